// What is used of LangChain and LangGraph, in types of our own, so that the packages are no dependency. Chat models and
// structured tools of theirs fit.

/** A message of a graph's state. */
export interface GraphMessage {
  /** A text, or a list of texts and blocks. */
  readonly content: unknown;
  /** Its id in the state of the graph. */
  readonly id?: string | undefined;
  /** The name of its author. */
  readonly name?: string | undefined;
  /** Its type, such as `human` or `ai`. */
  getType?(): string;
}

/** An answer of a model. */
export interface GraphAnswer extends GraphMessage {
  /** The calls that the model made, in order. */
  readonly tool_calls?: readonly GraphCall[] | undefined;
  /** What it used; absent when the provider did not count. */
  readonly usage_metadata?:
    | {
        /** Tokens of the prompt. */
        readonly input_tokens: number;
        /** Tokens of the answer. */
        readonly output_tokens: number;
      }
    | null
    | undefined;
}

/** A call that a model made. */
export interface GraphCall {
  /** The name of the tool. */
  readonly name: string;
  /** The arguments, parsed. */
  readonly args: object;
  /** The id that the model gave it. A durable tool throws an Error for a call without one. */
  readonly id?: string | undefined;
}

/** A chat model of the framework, or one that is bound to tools. */
export interface GraphModel {
  /** Asks for an answer to a text, a list of messages, or a prompt value. */
  invoke(input: never, config?: never): Promise<GraphAnswer>;
  /** The same model with tools to call; absent when it takes none. */
  bindTools?(tools: never, options?: never): GraphModel;
}

/** A structured tool of the framework, as its `tool()` makes it. */
export interface GraphTool {
  /** The name that the model calls: 1 to 64 characters of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  /** What the model reads about the tool. */
  readonly description: string;
  /** Of the arguments: a JSON Schema, or one of a library. Where that makes no JSON Schema, any object is taken. */
  readonly schema: object;
  /** Runs a call; resolves with its result, or with a message that holds it. */
  invoke(call: never, config?: never): Promise<unknown>;
}
