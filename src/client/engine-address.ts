// Where the engine of a data directory listens: the file `engine.json` of the directory, by which other processes find it.
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface EngineAddress {
  /** Its base URL, such as `http://127.0.0.1:4519`. */
  readonly url: string;
  /** The process that serves it. */
  readonly pid: number;
}

/** An address with the identity of its directory: a copy of the directory contains a copy of the address. */
interface PublishedAddress extends EngineAddress {
  readonly directory: string;
}

/** Publishes where the engine of this data directory listens. */
export async function publishAddress(dataDir: string, address: EngineAddress): Promise<void> {
  const path = addressFile(dataDir);
  const published: PublishedAddress = { ...address, directory: await identityOf(dataDir) };
  await writeFile(`${path}.tmp`, `${JSON.stringify(published)}\n`, { mode: 0o600 });
  await rename(`${path}.tmp`, path);
}

/** Withdraws the address that this process published; another engine may have published its own in the same place. */
export async function withdrawAddress(dataDir: string, pid: number): Promise<void> {
  if ((await readAddress(dataDir))?.pid === pid) await rm(addressFile(dataDir), { force: true });
}

/** The published address of this directory, which may be that of a killed engine; null when there is none. */
export async function readAddress(dataDir: string): Promise<EngineAddress | null> {
  try {
    const { url, pid, directory } = JSON.parse(await readFile(addressFile(dataDir), 'utf8')) as PublishedAddress;
    return directory === (await identityOf(dataDir)) ? { url, pid } : null;
  } catch {
    return null;
  }
}

/** The socket at which that engine takes streams, beside HTTP. */
export const socketFile = (dataDir: string): string => join(dataDir, 'engine.sock');

/** The socket of the engine at this URL, when it is the engine of this data directory; null else. */
export async function socketOf(dataDir: string, url: string): Promise<string | null> {
  const address = await readAddress(dataDir);
  return address?.url === url.replace(/\/+$/, '') ? socketFile(dataDir) : null;
}

const addressFile = (dataDir: string): string => join(dataDir, 'engine.json');

/** The identity of a directory, independent of the path to it. */
async function identityOf(dataDir: string): Promise<string> {
  const { dev, ino } = await stat(dataDir, { bigint: true });
  return `${dev}:${ino}`;
}
