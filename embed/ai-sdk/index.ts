// The sub-path `refold/ai-sdk`: the loop of the AI SDK on the record of a session.
export * from '../durable/exports.ts';
export { type DurableAgent, type DurableOptions, durable } from './durable.ts';
export type { AiSdkTool, AiSdkTools } from './durable-tools.ts';
export { fromAiSdk } from './from-ai-sdk.ts';
export type { AiSdkModel, ContentPart, ModelMessage } from './model-types.ts';
