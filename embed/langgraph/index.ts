// The sub-path `refold/langgraph`: durable tools, and a durable model, for a graph of LangGraph.
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
export type { AnswerMessage } from './answer.ts';
export { type DurableGraph, type DurableGraphOptions, durable } from './durable.ts';
export type { GraphAnswer, GraphCall, GraphMessage, GraphModel, GraphTool } from './sdk.ts';
