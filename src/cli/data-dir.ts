// Where an engine keeps its data, and how another process finds the engine that has it open.
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../client/client.ts';
import { connect } from '../client/http-client.ts';
import { type Engine, openEngine } from '../engine/engine.ts';
import { makeDirectory } from '../files/directories.ts';
import { codeOf, reasonOf } from '../files/file-failure.ts';
import { isSwitchPending } from '../journal/rebuild-switch.ts';
import { readToken, tokenFile } from '../server/token.ts';
import { cannotRead } from './files.ts';
import { mustBe } from './must.ts';
import { CommandFailure } from './output.ts';

/** The data directory: the option, REFOLD_DATA_DIR, or `.refold` in the home directory. */
export function dataDirOf(option: string | undefined): string {
  const home = homedir();
  // A variable that is set to nothing is not set; an option of nothing is one of those, put where it was needed.
  const named = option ?? (process.env['REFOLD_DATA_DIR'] || (home === '' ? '' : join(home, '.refold')));
  if (named !== '') return resolve(named);
  throw new CommandFailure('invalid_shape', 'no data directory is named: give --data-dir DIR');
}

/** Makes a data directory where there is none, for a command that may begin one. */
export async function makeDataDir(dataDir: string): Promise<void> {
  await makeDirectory(dataDir).catch((error: unknown) => {
    const why = reasonOf(error, { EEXIST: 'something else is there' });
    throw new CommandFailure('storage_failed', `cannot make the data directory ${dataDir}: ${why}`);
  });
}

/** Whether an engine has ever had its data here; that the folder is there says nothing: it may be any. */
export async function hasData(dataDir: string): Promise<boolean> {
  const journal = journalOf(dataDir);
  const there = await stat(journal).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false;
      throw cannotRead(dataDir, error);
    },
  );
  return there || (await isSwitchPending(journal));
}

/** Ends a command that may not begin a data directory where there is none: its path may be mistyped. */
export async function requireData(dataDir: string): Promise<void> {
  if (await hasData(dataDir)) return;
  const message = `there is no data directory at ${dataDir}. To make one: refold serve --data-dir ${dataDir}`;
  throw new CommandFailure('no_data_dir', message);
}

export const journalOf = (dataDir: string): string => join(dataDir, 'journal');

/** Where the bridges that were started for a data directory keep their ledgers. */
export const bridgeStateDir = (dataDir: string): string => join(dataDir, 'bridges');

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

/** Works with the engine of a data directory that is there: the running one, or one opened for this command alone. */
export async function withEngine<T>(dataDir: string, work: (client: EngineClient) => Promise<T>): Promise<T> {
  for (let looks = 1; ; looks += 1) {
    const running = await findEngine(dataDir);
    if (running !== null) return await work(running.client).finally(() => running.client.close());
    await requireData(dataDir);
    const opened = await openEngine({ dataDir })();
    if (!isLeft(opened)) return await workWith(opened.right, work);
    // Whoever has the directory open may be an engine that is just starting, and is found a moment later.
    if (opened.left.code !== 'in_use' || looks >= LOOKS_MAX) return mustBe(opened);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** How often, and how long apart, a directory that somebody has open is looked at before that is told. */
const LOOKS_MAX = 20;
const LOOK_EVERY_MS = 250;

async function workWith<T>(engine: Engine, work: (client: EngineClient) => Promise<T>): Promise<T> {
  try {
    return await work(engine.client);
  } finally {
    await engine.close();
  }
}
