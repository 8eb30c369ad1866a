// The sub-path `refold/openai-agents`: an agent of OpenAI Agents JS that survives its process.
export * from '../durable/exports.ts';
export type { DurableOptions } from '../durable/open-durable.ts';
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
