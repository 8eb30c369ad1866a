// The sub-path `refold/ai-sdk`: the loop of the AI SDK on the record of a session.
export {
  CallDiffers,
  CallNotSucceeded,
  type NamedCall,
  PromptDiffers,
  RunEnded,
  SessionInUse,
} from '../durable/errors.ts';
export type { ToolHints } from '../durable/loop-tools.ts';
export type { DurableRun } from '../durable/open-durable.ts';
export { type EnginePlace, EnginePlaceError } from '../runs/engine-place.ts';
export { RunUnfinished } from '../runs/live-run.ts';
export { type Answer, NotWaiting, type Question, type QuestionAddress } from '../runs/questions.ts';
export { type DurableAgent, type DurableOptions, durable } from './durable.ts';
export type { AiSdkTool, AiSdkTools } from './durable-tools.ts';
export { fromAiSdk } from './from-ai-sdk.ts';
export type { AiSdkModel, ContentPart, ModelMessage } from './model-types.ts';
