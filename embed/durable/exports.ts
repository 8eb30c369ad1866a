// What the sub-path of every adapter exports beside its own: errors, questions, and what one opened session is.
export { EnginePlaceError, type EnginePlace } from '../runs/engine-place.ts';
export { RunUnfinished } from '../runs/live-run.ts';
export { type Answer, NotWaiting, type Question, type QuestionAddress } from '../runs/questions.ts';
export { CallDiffers, CallNotSucceeded, type NamedCall, PromptDiffers, RunEnded, SessionInUse } from './errors.ts';
export type { ToolHints } from './loop-tools.ts';
export type { DurableRun } from './open-durable.ts';
