// How another process finds the engine that has a data directory open.
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import { connect } from '../client/http-client.ts';
import { whatFailed } from '../files/file-failure.ts';
import { readToken, tokenFile } from '../server/token.ts';

export interface EngineAddress {
  readonly url: string;
  readonly pid: number;
}

/** Where an engine listens, and which directory it has open: a copy of the directory has a copy of its address. */
interface PublishedAddress extends EngineAddress {
  readonly directory: string;
}

/** Which directory this is, by whatever path. */
async function identityOf(dataDir: string): Promise<string> {
  const { dev, ino } = await stat(dataDir, { bigint: true });
  return `${dev}:${ino}`;
}

const addressFile = (dataDir: string): string => join(dataDir, 'engine.json');

/** Tells others where the engine of this data directory listens. */
export async function publishAddress(dataDir: string, address: EngineAddress): Promise<void> {
  const path = addressFile(dataDir);
  const published: PublishedAddress = { ...address, directory: await identityOf(dataDir) };
  await writeFile(`${path}.tmp`, `${JSON.stringify(published)}\n`, { mode: 0o600 });
  await rename(`${path}.tmp`, path);
}

export const withdrawAddress = (dataDir: string): Promise<void> => rm(addressFile(dataDir), { force: true });

export interface FoundEngine {
  readonly client: EngineClient;
  readonly url: string;
}

/** The engine that has this data directory open and answers, if there is one. */
export async function findEngine(dataDir: string): Promise<FoundEngine | null> {
  // None: no address, or one that a killed engine left behind.
  const address = await readAddress(dataDir);
  if (address === null) return null;
  const asked = await askEngine(dataDir, address);
  return isLeft(asked) ? null : asked.right;
}

/** A refusal because somebody has the directory open says who that is, and what stands in the way of asking. */
export async function namingHolder<T>(dataDir: string, result: Either<Rejection, T>): Promise<Either<Rejection, T>> {
  if (!isLeft(result) || result.left.code !== 'in_use') return result;
  const address = await readAddress(dataDir);
  // Whoever has it open may be a command that is no engine, while the address is that of one that was killed.
  if (address === null || !isAlive(address.pid)) return result;
  const asked = await askEngine(dataDir, address);
  if (!isLeft(asked)) await asked.right.client.close();
  const why = isLeft(asked) ? `, and it cannot be asked: ${asked.left}` : '';
  const message = `${result.left.message} (process ${address.pid}, at ${address.url}${why})`;
  return left({ ...result.left, message });
}

async function readAddress(dataDir: string): Promise<EngineAddress | null> {
  try {
    const { url, pid, directory } = JSON.parse(await readFile(addressFile(dataDir), 'utf8')) as PublishedAddress;
    return directory === (await identityOf(dataDir)) ? { url, pid } : null;
  } catch {
    return null;
  }
}

/** The engine at an address, or why it is none. */
async function askEngine(dataDir: string, { url }: EngineAddress): Promise<Either<string, FoundEngine>> {
  const path = tokenFile(dataDir);
  const token = await readToken(path).catch((error: unknown) => left(`its token cannot be read, ${whatFailed(error)}`));
  if (typeof token !== 'string') return token;
  const client = connect(url, token);
  const info = await client.info()();
  if (!isLeft(info)) return right({ client, url });
  await client.close();
  const isOther = info.left.code === 'unauthorized';
  return left(isOther ? `the token in ${path} is not the one that it was started with` : info.left.message);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // One of another user may not be signalled, and is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
