// The sub-path `refold/openai-agents`: an agent of OpenAI Agents JS that survives its process.
export {
  CallDiffers,
  CallNotSucceeded,
  type NamedCall,
  PromptDiffers,
  RunEnded,
  SessionInUse,
} from '../durable/errors.ts';
export type { ToolHints } from '../durable/loop-tools.ts';
export type { DurableOptions, DurableRun } from '../durable/open-durable.ts';
export { RunUnfinished } from '../runs/live-run.ts';
export { type Answer, NotWaiting, type Question, type QuestionAddress } from '../runs/questions.ts';
export { type DurableAgent, type DurableAgentOptions, durable } from './durable.ts';
export type {
  AgentsCallDetails,
  AgentsHandoff,
  AgentsItem,
  AgentsModel,
  AgentsRequest,
  AgentsResponse,
  AgentsTool,
  AgentsUsage,
} from './sdk.ts';
