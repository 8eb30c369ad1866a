// The language model of the AI SDK, specification v3 and v4, as far as refold reads it. The types are refold's own, so that no
// package of the SDK is needed to compile or to run.

/** A part of an answer: `text`, `reasoning`, `tool-call`, `file`, `source` and others, with fields of their own. */
export interface ContentPart {
  /** The kind of the part, which decides what other fields it has. */
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Why the model stopped. */
export interface FinishReason {
  readonly unified: string;
  readonly raw?: string | undefined;
}

/** What a turn used, in tokens. */
export interface ModelUsage {
  readonly inputTokens: {
    readonly total?: number | undefined;
    readonly cacheRead?: number | undefined;
    readonly cacheWrite?: number | undefined;
  };
  readonly outputTokens: { readonly total?: number | undefined; readonly reasoning?: number | undefined };
}

/** A whole answer. */
export interface ModelAnswer {
  readonly content: readonly ContentPart[];
  readonly finishReason: FinishReason;
  readonly usage: ModelUsage;
  readonly providerMetadata?: unknown;
  readonly response?: { readonly id?: string; readonly timestamp?: Date; readonly modelId?: string };
  readonly warnings: readonly unknown[];
}

/** A message of a prompt. */
export interface ModelMessage {
  /** `system`, `user`, `assistant` or `tool`. */
  readonly role: string;
  /** A text when it is of the system, else a list of parts. */
  readonly content: string | readonly ContentPart[];
}

/** A tool as the model is offered it; one of type `provider` runs at the provider. */
export interface OfferedModelTool {
  readonly type: string;
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
}

/** What a model is asked; further settings are passed on unread. */
export interface ModelCall {
  readonly prompt: readonly ModelMessage[];
  readonly tools?: readonly OfferedModelTool[] | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** A language model object of the AI SDK. */
export interface AiSdkModel {
  /** `v3` or `v4`. */
  readonly specificationVersion: string;
  /** The name of the provider, as the SDK has it; passed on. */
  readonly provider: string;
  /** The id of the model at its provider; its first 128 characters are recorded. */
  readonly modelId: string;
  /** Passed on: which addresses the model reads by itself. */
  readonly supportedUrls?: unknown;
  /** Asks for a whole answer. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the SDK's options are wider than what is read here
  doGenerate(options: any): PromiseLike<unknown>;
  /** Asks for an answer as a stream: resolves with an object whose `stream` gives its parts. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  doStream(options: any): PromiseLike<unknown>;
}

/** Throws a TypeError for what is no language model that can be wrapped. */
export function checkModel(model: AiSdkModel | string): AiSdkModel {
  if (typeof model === 'string') {
    throw new TypeError(`model "${model}" is a name: give the model object, such as gateway('${model}')`);
  }
  const version = model.specificationVersion;
  if (version === 'v3' || version === 'v4') return model;
  throw new TypeError(`the model implements specification "${version}": use AI SDK 6 or 7, whose models are v3 or v4`);
}
