// What is used of OpenAI Agents JS, in types of our own, so that the package is no dependency. Its own models and tools fit.

/** An item of a conversation: a message, a call, the result of one, a reasoning item, and so on. */
export type AgentsItem = object;

/** What a model is asked; further settings are passed on unread. */
export interface AgentsRequest {
  /** The system prompt. */
  readonly systemInstructions?: string | undefined;
  /** The conversation so far; a text is one message of the user. */
  readonly input: string | readonly AgentsItem[];
  /** The tools that the model may call, without the handoffs. */
  readonly tools: readonly {
    /** `function`, or another kind of the framework. */
    readonly type: string;
    /** The name that the model calls. */
    readonly name: string;
  }[];
  /** The agents that the model may hand over to. */
  readonly handoffs: readonly AgentsHandoff[];
  /** Ends the request when it aborts; a durable model cancels its run, too. */
  readonly signal?: AbortSignal | undefined;
}

/** Another agent, offered to the model as a tool. */
export interface AgentsHandoff {
  /** The name that the model calls. */
  readonly toolName: string;
  /** What the model reads about the agent. */
  readonly toolDescription: string;
  /** The JSON Schema of the arguments. */
  readonly inputJsonSchema: object;
}

/** What an answer used, in tokens. */
export interface AgentsUsage {
  /** Tokens of the prompt. */
  readonly inputTokens: number;
  /** Tokens of the answer. */
  readonly outputTokens: number;
  /** Both together. */
  readonly totalTokens: number;
}

/** An answer of a model. */
export interface AgentsResponse {
  /** The tokens that it used. */
  readonly usage: AgentsUsage;
  /** The items of the answer, in order. */
  readonly output: readonly AgentsItem[];
  /** The id that the provider gave the answer. */
  readonly responseId?: string;
  /** The id that the provider gave the request. */
  readonly requestId?: string;
  /** What only the provider understands; recorded as it is. */
  readonly providerData?: object;
}

/** A model of the framework. */
export interface AgentsModel {
  /** Asks for a whole answer. */
  getResponse(request: AgentsRequest): Promise<AgentsResponse>;
  /** Asks for an answer as events; `response_done` is the last one, with the whole answer. */
  getStreamedResponse(request: AgentsRequest): AsyncIterable<object>;
}

/** A function tool of the framework, as its `tool()` makes it. */
export interface AgentsTool {
  readonly type: 'function';
  /** The name that the model calls: 1 to 64 characters of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  /** What the model reads about the tool. */
  readonly description: string;
  /** The JSON Schema of the arguments. */
  readonly parameters: object;
  /** How long a call may take, in milliseconds; two minutes by default. */
  readonly timeoutMs?: number | undefined;
  /** Whether a call asks a person. `input` is the arguments, parsed. */
  needsApproval(context: never, input: never, callId?: string): Promise<boolean>;
  /** Runs a call. `input` is the arguments as JSON text; resolves with the result. */
  invoke(context: never, input: string, details?: AgentsCallDetails): Promise<unknown>;
}

/** What the framework tells a tool of a call. */
export interface AgentsCallDetails {
  /** The call, as the model made it. */
  readonly toolCall?: {
    /** Its id in the recorded turn. */
    readonly callId: string;
    /** Its arguments as JSON text. */
    readonly arguments?: string;
  };
  /** Ends the call when it aborts; a durable tool cancels its run, too. */
  readonly signal?: AbortSignal;
}
