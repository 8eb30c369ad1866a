// Opens a stream to an engine: at the socket in its data directory, else by an upgrade of a connection to its URL.
import { lstatSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { STREAM_OPEN_MS_MAX } from '../../../schemas/limits.ts';
import { STREAM_PATH, STREAM_PROTOCOL } from './frame-texts.ts';
import { type FrameStream, newFrameStream } from './frame-stream.ts';

export interface StreamAddress {
  readonly url: string;
  readonly token: string;
  /** The socket of the engine at this URL; null where it is not known. Asked before each connection. */
  readonly socketPath: () => Promise<string | null>;
  /** Asked before each connection to the URL: why the process that listens there must not be sent the token, or null. */
  readonly refuseListener: () => string | null;
}

/** `answered`: an engine, or what stands before it, answered without opening a stream. */
export type StreamOpening =
  | { readonly stream: FrameStream; readonly over: 'socket' | 'upgrade'; readonly why: string | null }
  | { readonly stream: null; readonly answered: boolean; readonly why: string };

export async function openStream(address: StreamAddress, onEnd: () => void): Promise<StreamOpening> {
  const { url, token, refuseListener } = address;
  const now = (): number => performance.now();
  const streamOf = ({ socket, head }: Upgraded): FrameStream => newFrameStream(socket, head, { now, onEnd });
  const socketPath = await address.socketPath();
  const local = socketPath === null ? null : await upgradeAt(() => socketOptions(socketPath), token);
  if (local !== null && 'socket' in local) return { stream: streamOf(local), over: 'socket', why: null };
  const remote = await upgradeAt(() => {
    const refused = refuseListener();
    if (refused !== null) throw new Error(refused);
    return urlOptions(url);
  }, token);
  if (!('socket' in remote)) return { stream: null, ...remote };
  return { stream: streamOf(remote), over: 'upgrade', why: local?.why ?? null };
}

interface Upgraded {
  readonly socket: Duplex;
  readonly head: Uint8Array;
}

interface NotUpgraded {
  readonly answered: boolean;
  readonly why: string;
}

interface Target extends RequestOptions {
  readonly secure: boolean;
}

/** The Host of a request over a socket, which has no name of its own. */
function socketOptions(socketPath: string): Target {
  const stats = lstatSync(socketPath);
  const own = process.getuid?.();
  if (!stats.isSocket() || (own !== undefined && stats.uid !== own && stats.uid !== 0))
    throw new Error(`${socketPath} is no socket of this user or of root`);
  return { secure: false, socketPath, host: 'localhost', path: STREAM_PATH };
}

function urlOptions(url: string): Target {
  const { protocol, hostname, port, pathname } = new URL(url);
  const secure = protocol === 'https:';
  const path = pathname.replace(/\/+$/, '') + STREAM_PATH;
  return { secure, host: hostname.replace(/^\[|\]$/g, ''), port, path };
}

function upgradeAt(targetOf: () => Target, token: string): Promise<Upgraded | NotUpgraded> {
  return new Promise((resolve) => {
    let sent: ClientRequest;
    const fail = (why: string, answered = false): void => resolve({ answered, why });
    try {
      const { secure, ...target } = targetOf();
      const headers = { authorization: `Bearer ${token}`, connection: 'Upgrade', upgrade: STREAM_PROTOCOL };
      // `agent: false`: the connection is no one else's.
      sent = (secure ? httpsRequest : httpRequest)({ ...target, agent: false, headers });
    } catch (error) {
      fail(messageOf(error));
      return;
    }
    sent.setTimeout(STREAM_OPEN_MS_MAX, () => sent.destroy(new Error(`no answer within ${STREAM_OPEN_MS_MAX} ms`)));
    sent.once('upgrade', (reply: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (reply.headers.upgrade?.toLowerCase() !== STREAM_PROTOCOL) {
        socket.destroy();
        fail(`the engine upgraded to ${reply.headers.upgrade ?? 'nothing'}`, true);
        return;
      }
      keepAlive(socket);
      resolve({ socket, head });
    });
    sent.once('response', (reply) => {
      sent.destroy();
      fail(`the engine answered ${reply.statusCode ?? 0} to the upgrade to ${STREAM_PROTOCOL}`, true);
    });
    sent.on('error', (error) => fail(error.message));
    sent.end();
  });
}

/** Frames are sent at once, and a connection whose other end is gone is found out. */
function keepAlive(socket: Duplex): void {
  if (!(socket instanceof Socket)) return;
  socket.setTimeout(0);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
}

const KEEP_ALIVE_MS = 15_000;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
