// What is used of OpenAI Agents JS, in types of our own, so that the package is no dependency. Its own models and tools fit.

/** An item of a conversation: a message, a call, the result of one, a reasoning item, and so on. */
export type AgentsItem = object;

export interface AgentsRequest {
  readonly systemInstructions?: string | undefined;
  readonly input: string | readonly AgentsItem[];
  readonly tools: readonly { readonly type: string; readonly name: string }[];
  readonly handoffs: readonly AgentsHandoff[];
  readonly signal?: AbortSignal | undefined;
}

/** Another agent, offered to the model as a tool. */
export interface AgentsHandoff {
  readonly toolName: string;
  readonly toolDescription: string;
  readonly inputJsonSchema: object;
}

export interface AgentsUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
}

export interface AgentsResponse {
  readonly usage: AgentsUsage;
  readonly output: readonly AgentsItem[];
  readonly responseId?: string;
  readonly requestId?: string;
  readonly providerData?: object;
}

/** A model of the framework. */
export interface AgentsModel {
  getResponse(request: AgentsRequest): Promise<AgentsResponse>;
  getStreamedResponse(request: AgentsRequest): AsyncIterable<object>;
}

/** A function tool of the framework, as its `tool()` makes it. */
export interface AgentsTool {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
  readonly timeoutMs?: number | undefined;
  needsApproval(context: never, input: never, callId?: string): Promise<boolean>;
  invoke(context: never, input: string, details?: AgentsCallDetails): Promise<unknown>;
}

export interface AgentsCallDetails {
  readonly toolCall?: { readonly callId: string };
  readonly signal?: AbortSignal;
}
