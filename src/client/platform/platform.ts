// What the client needs of its platform. The import condition `#client-platform` selects `web.ts` in browsers, `node.ts` in
// Node; both are held to the contract of all clients.
import type { RouteName } from '../../../schemas/access.ts';

export interface ExchangeRequest {
  /** The route, whose method and path `schemas/access.ts` has. */
  readonly route: RouteName;
  /** The parameter of its path. */
  readonly of?: string | undefined;
  /** The parameters of its query. */
  readonly query?: object | undefined;
  /** The token, and the type of the body. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or the bytes of a blob. */
  readonly body?: string | Uint8Array | undefined;
  /** Ends the request when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** How long the answer may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Takes what is pushed before the answer. Over HTTP nothing is. */
  readonly onPushed?: ((value: unknown) => void) | undefined;
}

export interface ExchangeReply {
  /** The HTTP status. */
  readonly status: number;
  /** The body, parsed; throws when it is no JSON. */
  json(): unknown;
  /** The whole body. */
  bytes(): Uint8Array;
}

/** Sends requests and reads their whole answers. */
export interface Exchanger {
  /** Rejects when there is no answer, or the answer is incomplete. */
  exchange(request: ExchangeRequest): Promise<ExchangeReply>;
  /** Whether requests share one connection now. */
  isShared?(): boolean;
  /** Ends the open requests, and refuses later ones. */
  close(): void;
}

export interface Platform {
  /** `refuse`: asked before each new connection, for the reason why there must be none; a browser cannot ask. */
  newExchanger(base: string, refuse?: () => string | null): Exchanger;
  /** The length of a text in UTF-8, in bytes. */
  utf8Length(text: string): number;
  /** Runs `work` when the present turn of the event loop is over. */
  afterThisTurn(work: () => void): void;
  /** Many listeners of these signals at a time are no leak, and cause no warning. */
  allowManyListeners(signals: readonly AbortSignal[]): void;
}
