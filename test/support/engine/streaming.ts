// Streams to a real server.
import { type Socket, connect as connectSocket } from 'node:net';
import { encodeFrame, newFrameReader } from '../../../src/client/frames/frame-codec.ts';

/** A connection that sends bytes as a test wants them, and notes what comes. */
export interface RawStream {
  readonly socket: Socket;
  /** What the server answered before the first frame. */
  readonly opened: string;
  readonly send: (...texts: readonly string[]) => void;
  /** The frames so far, parsed. */
  readonly frames: readonly Readonly<Record<string, unknown>>[];
  readonly closed: Promise<void>;
}

const upgradeText = (token: string, more: readonly string[] = []): string =>
  [
    'GET /v1 HTTP/1.1',
    ...(more.some((line) => line.startsWith('host:')) ? [] : ['host: 127.0.0.1']),
    'connection: Upgrade',
    'upgrade: refold/1',
    `authorization: Bearer ${token}`,
    ...more,
    '',
    '',
  ].join('\r\n');

/** Asks for a stream; resolves with what came of it. */
export function openRaw(
  at: { readonly port: number } | { readonly path: string },
  token: string,
  more: readonly string[] = [],
): Promise<RawStream> {
  return new Promise((resolve) => {
    const socket = connectSocket('port' in at ? { ...at, host: '127.0.0.1' } : at);
    const frames: Record<string, unknown>[] = [];
    const reader = newFrameReader();
    let head: string | null = '';
    const closed = new Promise<void>((end) => socket.once('close', () => end()));
    socket.on('error', () => undefined);
    socket.write(upgradeText(token, more));
    socket.on('data', (bytes: Buffer) => {
      let rest = bytes;
      if (head !== null) {
        head += bytes.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end === -1) return;
        rest = Buffer.from(head.slice(end + 4), 'latin1');
        const opened = head;
        head = null;
        const send = (...texts: readonly string[]): void => void socket.write(Buffer.concat(texts.map(encodeFrame)));
        resolve({ socket, opened, send, frames, closed });
      }
      for (const text of reader.read(rest).texts) frames.push(JSON.parse(text) as Record<string, unknown>);
    });
  });
}
