// How a command finds the engine that has a data directory open.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { Scope } from '../../schemas/access.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import { connect } from '../client/http-client.ts';
import { refuseStranger } from '../files/listening-user.ts';
import { whatFailed } from '../files/file-failure.ts';
import { readToken, tokenFile } from '../client/token-file.ts';
import { type EngineAddress, readAddress } from '../client/engine-address.ts';

export interface FoundEngine {
  readonly client: EngineClient;
  readonly url: string;
}

/** The engine that has this data directory open and answers, used with the token of a scope; null if there is none. */
export async function findEngine(dataDir: string, scope: Scope = 'operator'): Promise<FoundEngine | null> {
  // Null also for an address that a killed engine left behind.
  const address = await readAddress(dataDir);
  if (address === null) return null;
  const asked = await askEngine(dataDir, address, scope);
  return isLeft(asked) ? null : asked.right;
}

/** Adds to an `in_use` rejection which process has the directory open, and why that engine cannot be asked. */
export async function namingHolder<T>(dataDir: string, result: Either<Rejection, T>): Promise<Either<Rejection, T>> {
  if (!isLeft(result) || result.left.code !== 'in_use') return result;
  const address = await readAddress(dataDir);
  // The holder may be a command without an engine, while the address is that of a killed engine.
  if (address === null || !isAlive(address.pid)) return result;
  const asked = await askEngine(dataDir, address, 'operator');
  if (!isLeft(asked)) await asked.right.client.close();
  const why = isLeft(asked) ? `, and it cannot be asked: ${asked.left}` : '';
  const message = `${result.left.message} (process ${address.pid}, at ${address.url}${why})`;
  return left({ ...result.left, message });
}

/** The engine at an address, or why it cannot be used. */
async function askEngine(dataDir: string, { url }: EngineAddress, scope: Scope): Promise<Either<string, FoundEngine>> {
  const path = tokenFile(dataDir, scope);
  const token = await readToken(path).catch((error: unknown) => left(`its token cannot be read: ${whatFailed(error)}`));
  if (typeof token !== 'string') return token;
  const client = connect(url, token, { refuseListener: refuseStranger(url, path) });
  const info = await client.info()();
  if (!isLeft(info)) return right({ client, url });
  await client.close();
  const isOther = info.left.code === 'unauthorized';
  return left(isOther ? `the token in ${path} is not one that it accepts` : info.left.message);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
