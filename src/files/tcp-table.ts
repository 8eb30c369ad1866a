// The TCP sockets of this machine, as the kernel lists them (proc(5)); none on systems that do not.
import { readFileSync } from 'node:fs';

export type TableName = 'tcp' | 'tcp6';
const TABLES: readonly TableName[] = ['tcp', 'tcp6'];

export interface TcpEnd {
  /** Hexadecimal: words of four bytes, each reversed on little-endian machines. */
  readonly address: string;
  readonly port: number;
}

export interface TcpSocket {
  readonly local: TcpEnd;
  readonly remote: TcpEnd;
  /** Two hexadecimal digits. */
  readonly state: string;
  readonly uid: number;
}

export const parseSockets = (readTable: (name: TableName) => string): readonly TcpSocket[] =>
  TABLES.flatMap((name) => readTable(name).split('\n').flatMap(parseLine));

function parseLine(line: string): readonly TcpSocket[] {
  const [, local, remote, state = '', , , , uid] = line.trim().split(/\s+/);
  const [here, there] = [parseEnd(local), parseEnd(remote)];
  return here === null || there === null ? [] : [{ local: here, remote: there, state, uid: Number(uid) }];
}

function parseEnd(text = ''): TcpEnd | null {
  const [address, port] = text.split(':');
  return address === undefined || port === undefined ? null : { address, port: Number.parseInt(port, 16) };
}

export function readFromProc(name: TableName): string {
  try {
    return readFileSync(`/proc/net/${name}`, 'latin1');
  } catch {
    return '';
  }
}
