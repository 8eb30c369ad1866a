// What is used of LangChain and LangGraph, in types of our own, so that the packages are no dependency. Chat models and
// structured tools of theirs fit.

/** A message of a graph's state. */
export interface GraphMessage {
  readonly content: unknown;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  getType?(): string;
}

/** An answer of a model. */
export interface GraphAnswer extends GraphMessage {
  readonly tool_calls?: readonly GraphCall[] | undefined;
  readonly usage_metadata?: { readonly input_tokens: number; readonly output_tokens: number } | undefined;
}

export interface GraphCall {
  readonly name: string;
  readonly args: object;
  readonly id?: string | undefined;
}

/** A chat model of the framework, or one that is bound to tools. */
export interface GraphModel {
  invoke(input: never, config?: never): Promise<GraphAnswer>;
  bindTools?(tools: never, options?: never): GraphModel;
}

/** A structured tool of the framework, as its `tool()` makes it. */
export interface GraphTool {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
  invoke(call: never, config?: never): Promise<unknown>;
}
