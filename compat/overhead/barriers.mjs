// Barriers: how many a process waits for, and how long one takes on this disk.
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';

const VALUE = 'x'.repeat(2_000);
const SAMPLES = 50;

/** Counts what is written with a barrier from now on: batches of LevelDB and files. */
export async function countBarriers(folder) {
  let barriers = 0;
  const count = (owner, name, isBarrier) => {
    const original = owner[name];
    owner[name] = function counted(...args) {
      if (isBarrier(args)) barriers += 1;
      return original.apply(this, args);
    };
  };
  const db = new ClassicLevel(join(folder, 'counted'));
  await db.open();
  const batch = db.batch();
  count(Object.getPrototypeOf(Object.getPrototypeOf(batch)), 'write', ([options]) => options?.sync === true);
  await batch.close();
  await db.close();
  const file = await open(join(folder, 'counted.file'), 'w');
  for (const name of ['sync', 'datasync']) count(Object.getPrototypeOf(file), name, () => true);
  await file.close();
  return () => barriers;
}

/** How long single durable writes take, one after the other, in milliseconds. */
export async function barrierTimes(folder) {
  const db = new ClassicLevel(join(folder, 'barriers'));
  await db.open();
  const times = [];
  for (let index = 0; index < SAMPLES; index += 1) {
    const from = performance.now();
    await db.put(`key ${index}`, VALUE, { sync: true });
    times.push(performance.now() - from);
  }
  await db.close();
  return times;
}
