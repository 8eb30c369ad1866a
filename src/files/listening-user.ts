// Which user's process listens on a port of this machine. When an engine is gone, any user, or
// a command without a sandbox, can take its port of loopback, and would be sent the token.
import { statSync } from 'node:fs';
import { type TableName, parseSockets, readFromProc } from './tcp-table.ts';

/**
 * For `connect` with the token of a token file: why the process that listens on this loopback address must not be sent it, or
 * null. It must belong to this user, to root or to the owner of the file. Where that is not known, nothing is refused.
 */
export const refuseStranger = (url: string, tokenPath: string) => (): string | null => {
  const uid = listeningUser(url);
  const known = [process.getuid?.(), 0, statSync(tokenPath, { throwIfNoEntry: false })?.uid];
  if (uid === null || known.includes(uid)) return null;
  return `a process of uid ${uid} listens there, which is no user of this engine, so it was sent no token; start the engine on another port`;
};

/** The uid of the process that a connection to a loopback address would reach; null where that is not known. */
export function listeningUser(url: string, readTable: (name: TableName) => string = readFromProc): number | null {
  const { hostname, port, protocol } = new URL(url);
  const addresses = LOOPBACK[hostname];
  if (addresses === undefined) return null;
  const wanted = Number(port === '' ? (protocol === 'https:' ? 443 : 80) : port);
  const here = parseSockets(readTable).filter(({ state, local }) => state === LISTENING && local.port === wanted);
  // A process that listens on the address itself comes before one that listens on all addresses.
  const found =
    here.find(({ local }) => addresses.includes(local.address)) ?? here.find(({ local }) => ANY.has(local.address));
  return found?.uid ?? null;
}

// As the kernel writes them on little-endian machines: words of four bytes, each reversed (proc(5)).
const IPV4 = '0100007F';
const IPV6 = '00000000000000000000000001000000';
const MAPPED = '0000000000000000FFFF00000100007F';
const ANY: ReadonlySet<string> = new Set(['00000000', '00000000000000000000000000000000']);
const LOOPBACK: Readonly<Record<string, readonly string[]>> = {
  '127.0.0.1': [IPV4, MAPPED],
  '[::1]': [IPV6],
  localhost: [IPV4, MAPPED, IPV6],
};

const LISTENING = '0A';
