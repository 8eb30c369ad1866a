// How another process finds the engine that has a data directory open.
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../client/client.ts';
import { connect } from '../client/http-client.ts';
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

/** The engine that has this data directory open and answers, if there is one. */
export async function findEngine(
  dataDir: string,
): Promise<{ readonly client: EngineClient; readonly url: string } | null> {
  try {
    const { url, directory } = JSON.parse(await readFile(addressFile(dataDir), 'utf8')) as PublishedAddress;
    if (directory !== (await identityOf(dataDir))) return null;
    const client = connect(url, await readToken(tokenFile(dataDir)));
    return isLeft(await client.info()()) ? null : { client, url };
  } catch {
    // No address, or one that a killed engine left behind.
    return null;
  }
}
