// A client for the engine whose token lies in a file of this machine. It sends the token to no other user's process.
import { statSync } from 'node:fs';
import { listeningUser } from '../files/listening-user.ts';
import type { EngineClient } from './client.ts';
import { connect } from './http-client.ts';

/**
 * Like `connect`, for the token of a token file. Before each connection to a loopback address, the process that listens there
 * must belong to this user, to root or to the owner of the file. Where that is not known, nothing is refused.
 */
export function connectOwn(url: string, token: string, tokenPath: string): EngineClient {
  return connect(url, token, { refuseListener: () => whyNotOwn(url, tokenPath) });
}

function whyNotOwn(url: string, tokenPath: string): string | null {
  const uid = listeningUser(url);
  const known = [process.getuid?.(), 0, statSync(tokenPath, { throwIfNoEntry: false })?.uid];
  if (uid === null || known.includes(uid)) return null;
  return `a process of uid ${uid} listens there, which is no user of this engine, so it was sent no token; start the engine on another port`;
}
