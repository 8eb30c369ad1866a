// The sub-path `refold/langgraph`: durable tools, and a durable model, for a graph of LangGraph.
export * from '../durable/exports.ts';
export type { DurableOptions } from '../durable/open-durable.ts';
export type { AnswerMessage } from './answer.ts';
export { type DurableGraph, type DurableGraphOptions, durable } from './durable.ts';
export type { GraphAnswer, GraphCall, GraphMessage, GraphModel, GraphTool } from './sdk.ts';
