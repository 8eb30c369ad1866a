// A request of a host with what the host said of itself: in the request in the newer protocol, when it connected in the older.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type RequestStateCodec,
  SdkError,
  SdkErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Clock } from '../clock.ts';
import type { PersonEffect } from '../core/status.ts';
import type { Host } from './host.ts';
import { type CallToken, isShownWhole } from './questions.ts';

export interface McpServerOptions {
  readonly host: Host;
  /** Seals what a host brings back. */
  readonly codec: RequestStateCodec<CallToken>;
  /** The answers of the host's person count. */
  readonly hostAnswers: boolean;
  readonly clock: Clock;
  /** Names the data directory in commands, where it is not the usual one; empty otherwise. */
  readonly place: string;
}

export interface Asked extends McpServerOptions {
  readonly server: Server;
  readonly context: ServerContext;
}

/** The extension of 2026-07-28 by which calls are tasks. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Whether the request is of 2026-07-28 or later. */
export const isModern = ({ context }: Asked): boolean => context.mcpReq.envelope !== undefined;

const capabilitiesOf = ({ context, server }: Asked): ClientCapabilities | undefined =>
  (envelopeOf(context, CLIENT_CAPABILITIES_META_KEY) as ClientCapabilities | undefined) ??
  server.getClientCapabilities();

/** Whether the host shows its person a form. */
export const canShow = (asked: Asked): boolean => capabilitiesOf(asked)?.elicitation !== undefined;

/** Whether what the person of the host fills in counts: where the form shows all that it would allow. */
export const canAnswer = (asked: Asked, action: PersonEffect): boolean =>
  asked.hostAnswers && canShow(asked) && isShownWhole(action);

/** Whether the host takes tasks of the extension. */
export const takesTasks = (asked: Asked): boolean =>
  isModern(asked) && capabilitiesOf(asked)?.extensions?.[TASKS_EXTENSION] !== undefined;

/** What a request of the newer protocol says beside its parameters; older hosts said it once, when they connected. */
const envelopeOf = ({ mcpReq }: ServerContext, key: string): unknown =>
  (mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[key];

/** Whom an answer of the host's person is recorded as given by. */
export function hostName({ context, server }: Asked): string {
  const info = (envelopeOf(context, CLIENT_INFO_META_KEY) as Implementation | undefined) ?? server.getClientVersion();
  return `mcp-host:${info?.name ?? 'unnamed'}`.slice(0, 128).toWellFormed();
}

/**
 * Whether an aborted request was cancelled by its host. One that is aborted because its connection ends was not, but over HTTP
 * in 2026-07-28: there a host cancels a request by closing the stream of its answer ("Cancellation").
 */
export function isCancelled(asked: Asked): boolean {
  const { mcpReq, http } = asked.context;
  const { aborted, reason } = mcpReq.signal as { readonly aborted: boolean; readonly reason: unknown };
  const isLost = reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed;
  return aborted && (!isLost || (isModern(asked) && http?.req?.signal.aborted === true));
}
