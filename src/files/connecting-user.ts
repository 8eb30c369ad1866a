// Which user's process is at the other end of a connection from this machine. The code of a page is an argument of the
// program that opens a browser, which other users of the machine can read while it runs.
import type { Socket } from 'node:net';
import { type TableName, parseSockets, readFromProc } from './tcp-table.ts';

type Ends = Pick<Socket, 'localPort' | 'remotePort' | 'remoteAddress'>;

/** Why the process at the other end must not be given a token, or null: it must belong to this user or to root. Where that is not known, nothing is refused. */
export function refuseConnectingStranger(socket: Ends): string | null {
  const uid = connectingUser(socket);
  if (uid === null || uid === 0 || uid === process.getuid?.()) return null;
  return `the request comes from a process of uid ${uid}, which is no user of this engine`;
}

/** The uid of the process at the other end of a loopback connection; null where that is not known. */
export function connectingUser(
  { localPort, remotePort, remoteAddress }: Ends,
  readTable: (name: TableName) => string = readFromProc,
): number | null {
  if (!LOOPBACK.has(remoteAddress ?? '')) return null;
  // Seen from the other end, its port is the local one.
  const found = parseSockets(readTable).find(
    ({ state, local, remote }) => state === ESTABLISHED && local.port === remotePort && remote.port === localPort,
  );
  return found?.uid ?? null;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);
const ESTABLISHED = '01';
