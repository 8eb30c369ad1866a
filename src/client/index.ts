// The sub-path `refold/client`: speak to an engine, wherever it runs.
export type { EngineClient } from './client.ts';
export { FollowRefused } from './follow-refused.ts';
export { connect } from './http-client.ts';
export { RejectedError, must, mustBe } from './must.ts';
