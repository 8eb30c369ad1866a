// The sub-path `refold/agent`: an agent of one's own tools in one call. Errors that are not listed here are those of
// `refold/client`: a RejectedError holds what the engine refused.
export { type EnginePlace, EnginePlaceError, type EnginePlaceProblem } from '../runs/engine-place.ts';
export {
  type Answer,
  NotWaiting,
  type Question,
  type QuestionAddress,
  type QuestionPreview,
} from '../runs/questions.ts';
export { type Run, RunUnfinished } from '../runs/live-run.ts';
export type { CallPart, ResultPart, RetractPart, RunPart, RunResult, TextPart } from '../runs/run-parts.ts';
export type { FromJsonSchema, JsonSchema } from '../tools/json-schema.ts';
export type { InputOf, OutputOf, StandardSchema } from '../tools/standard-schema.ts';
export type { ToolContext } from '../tools/run-tool.ts';
export { type ArgumentsOf, type Tool, type ToolOptions, tool } from '../tools/tool.ts';
export { type Agent, type AgentOptions, type RunOptions, SessionBusy, createAgent } from './create-agent.ts';
export type { ModelName } from './model.ts';
