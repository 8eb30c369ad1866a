// The sub-path `refold/client`: the client of an engine in any process.
export { type SessionFilters, allSessions } from './all-sessions.ts';
export type { EngineClient } from './client.ts';
export { FollowRefused } from './follow-refused.ts';
export { connect } from './http-client.ts';
export { must, mustBe } from './must.ts';
export { RejectedError } from './rejected-error.ts';
export { uploadBlob } from './upload-blob.ts';
export { resultsOf } from './watch/results-of.ts';
export { type StreamOptions, sessionStream } from './watch/session-stream.ts';
export { StreamDiverged } from './watch/stream-diverged.ts';
export { type WaitOptions, waitForRun } from './watch/wait-for-run.ts';
export { type WatchOptions, type WatchedSession, watch } from './watch/watch.ts';
export { withAccess } from './with-access.ts';
