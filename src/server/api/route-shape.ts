// What one route takes and gives: the server reads requests and writes answers by it, and the OpenAPI document is made of it.
import type { Codec } from '../../../schemas/codec.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { RejectionCode } from '../../../schemas/rejection.ts';

/** Any codec, whatever it accepts. */
export interface Described {
  readonly name: string;
  readonly jsonSchema: JsonObject;
}

/** Parameters of the query or of the headers, by name, with a sentence for each. */
export interface Parameters {
  /** A shape whose fields are all optional, of texts, integers and flags. */
  readonly codec: Described;
  readonly says: Readonly<Record<string, string>>;
}

export const parameters = <A extends object>(
  codec: Codec<A>,
  says: Readonly<Record<keyof A & string, string>>,
): Parameters & { readonly codec: Codec<A> } => ({ codec, says });

/** Bytes of any kind, up to a number. */
export interface BytesBody {
  readonly bytesMax: number;
}

/** An answer that is no JSON document. `messages`: the server-sent events, by name; `lines`: what each line is. */
export interface TextAnswer {
  readonly type: string;
  readonly says: string;
  readonly messages?: Readonly<Record<string, Described>>;
  readonly lines?: Described;
}

export interface RouteShape {
  /** What it does, in one sentence. */
  readonly says: string;
  readonly query?: Parameters;
  readonly headers?: Parameters;
  /** What the parameter of its path is. */
  readonly path?: Described;
  readonly body?: Described | BytesBody;
  /** The status of what is not refused. */
  readonly status: 200 | 201;
  readonly answer: Described | TextAnswer;
  /** The answer is for its reader alone: no cache keeps it. */
  readonly noStore?: true;
  /** The codes with which it refuses, besides those that every route with a token has. */
  readonly refusals: readonly RejectionCode[];
}

export const isText = (answer: RouteShape['answer']): answer is TextAnswer => 'says' in answer;
export const isBytes = (body: NonNullable<RouteShape['body']>): body is BytesBody => 'bytesMax' in body;

type Accepted<C> = C extends Codec<infer A> ? A : never;

/** The query of a route, as its handler gets it. */
export type QueryOf<S> = S extends { readonly query: { readonly codec: infer C } } ? Accepted<C> : NoQuery;
type NoQuery = Readonly<Record<never, never>>;
/** The JSON body of a route, as its handler gets it: the client decodes it. */
export type BodyOf<S> = S extends { readonly body: infer C } ? Accepted<C> : never;
/** What a route answers, when it answers with JSON. */
export type AnswerOf<S> = S extends { readonly answer: infer C } ? Accepted<C> : never;
