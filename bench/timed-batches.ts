// Batches of calls with a duration for each call, generated or recorded from real models, for a real bridge to run. The
// tools of a recording do not exist here, so the name of a tool decides whether a call reads or writes, and the target is
// the first text argument, else the tool. Durations are seeded, from 20 to 200 ms.
import { readFile } from 'node:fs/promises';
import { inferToolMode } from '../schemas/tool-mode.ts';
import { type Random, seeded } from './random.ts';

export interface TimedCall {
  readonly tool: 'look' | 'change';
  /** The file that it reads or writes. */
  readonly target: string;
  readonly ms: number;
}

export type TimedBatch = readonly TimedCall[];

const MS_MIN = 20;
const MS_MAX = 200;

const durationOf = (random: Random): number => Math.round(MS_MIN * (MS_MAX / MS_MIN) ** random());

/** Batches of 2 to 12 calls over six targets; three in five calls only read. */
export function generateBatches(count: number, seed: number): readonly TimedBatch[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () =>
    Array.from({ length: 2 + Math.floor(random() * 11) }, () => ({
      tool: random() < 0.6 ? 'look' : 'change',
      target: `file-${Math.floor(random() * 6)}`,
      ms: durationOf(random),
    })),
  );
}

interface RecordedBatch {
  readonly dup: boolean;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
}

/** Every distinct batch of a recording (JSON Lines); null when the file does not exist. */
export async function readRecordedBatches(path: string, seed: number): Promise<readonly TimedBatch[] | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  const random = seeded(seed);
  const lines = text.split('\n').filter((line) => line !== '');
  const batches = lines.map((line) => JSON.parse(line) as RecordedBatch).filter(({ dup }) => !dup);
  return batches.map(({ calls }) =>
    calls.map(({ name, args }) => ({
      tool: inferToolMode(name) === 'read' ? 'look' : 'change',
      target: targetOf(name, args),
      ms: durationOf(random),
    })),
  );
}

function targetOf(name: string, args: unknown): string {
  const values = typeof args === 'object' && args !== null ? Object.values(args) : [];
  const text = values.find((value) => typeof value === 'string' && value !== '');
  return typeof text === 'string' ? text.slice(0, 200).toWellFormed() : name;
}
