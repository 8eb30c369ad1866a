// The path walk under attack: a thread continuously replaces what the tools are about to open by links to files outside.
// No byte from outside may be returned, and nothing outside may change.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { type Host, openHost } from '../../../bridge/host/open-host.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { callContext } from '../../support/host/workspace.ts';
import { roundsOf } from '../../support/random.ts';

const OPERATIONS = roundsOf(1_250, 50_000);
const MARK = 'OUTSIDE-CONTENT';

/** The attacker's thread, which repeats `swaps` until it is stopped. */
const attackBy = (swaps: string): string => `
  const fs = require('node:fs');
  const { workerData: { workspace, outside, flag } } = require('node:worker_threads');
  const stop = new Int32Array(flag);
  const quietly = (act) => { try { act(); } catch {} };
  while (Atomics.load(stop, 0) === 0) {
    ${swaps}
    Atomics.add(stop, 1, 1);
  }`;

const SWAPPED = attackBy(`
    // The directory is replaced by a link to a directory outside, and then restored.
    quietly(() => fs.renameSync(workspace + '/d', workspace + '/d.real'));
    quietly(() => fs.symlinkSync(outside, workspace + '/d'));
    // A call may have made a directory with that name since.
    quietly(() => fs.rmSync(workspace + '/d', { recursive: true, force: true }));
    quietly(() => fs.renameSync(workspace + '/d.real', workspace + '/d'));
    // The file is replaced by a symbolic link, then by a hard link, and then restored.
    quietly(() => fs.renameSync(workspace + '/e/file.txt', workspace + '/e/file.real'));
    quietly(() => fs.symlinkSync(outside + '/file.txt', workspace + '/e/file.txt'));
    quietly(() => fs.unlinkSync(workspace + '/e/file.txt'));
    quietly(() => fs.linkSync(outside + '/file.txt', workspace + '/e/file.txt'));
    quietly(() => fs.unlinkSync(workspace + '/e/file.txt'));
    quietly(() => fs.renameSync(workspace + '/e/file.real', workspace + '/e/file.txt'));
`);

// A hard link to the file outside is created and removed: at once, or after a move to another directory.
const LINKED = attackBy(`
    quietly(() => fs.linkSync(outside + '/file.txt', workspace + '/e/file.txt'));
    quietly(() => fs.unlinkSync(workspace + '/e/file.txt'));
    if (stop[1] % 4 === 0) {
      quietly(() => fs.linkSync(outside + '/file.txt', workspace + '/e/file.txt'));
      quietly(() => fs.renameSync(workspace + '/e/file.txt', workspace + '/d/moved.txt'));
      quietly(() => fs.unlinkSync(workspace + '/d/moved.txt'));
    }
    if (stop[1] % 16 === 0) {
      quietly(() => fs.writeFileSync(workspace + '/e/file.txt', 'inside'));
      quietly(() => fs.unlinkSync(workspace + '/e/file.txt'));
    }
`);

let base: string;
let workspace: string;
let outside: string;
let host: Host;
const flag = new SharedArrayBuffer(8);
const counters = new Int32Array(flag);
let attacker: Worker;

beforeEach(async () => {
  // In memory where possible, because every write is followed by fsync.
  const fast = statSync('/dev/shm', { throwIfNoEntry: false })?.isDirectory() === true ? '/dev/shm' : tmpdir();
  base = mkdtempSync(join(fast, 'refold-race-'));
  workspace = join(base, 'workspace');
  outside = join(base, 'outside');
  for (const directory of [workspace, join(workspace, 'd'), join(workspace, 'e'), outside]) mkdirSync(directory);
  writeFileSync(join(workspace, 'd', 'file.txt'), 'inside');
  writeFileSync(join(workspace, 'e', 'file.txt'), 'inside');
  writeFileSync(join(outside, 'file.txt'), MARK);
  host = await openHost({ workspace, sandbox: 'none', now: () => 0, tempDir: join(base, 'host') });
  counters.fill(0);
});

afterEach(async () => {
  Atomics.store(counters, 0, 1);
  await attacker.terminate();
  await host.close();
  rmSync(base, { recursive: true, force: true });
});

// Mostly reads, and every tool that writes.
function operation(round: number): readonly [string, JsonObject] {
  const path = round % 2 === 0 ? 'd/file.txt' : 'e/file.txt';
  switch (round % 20) {
    case 3:
      return ['host.fs.write_file', { path: 'd/written.txt', text: 'inside' }];
    case 6:
      return ['host.fs.edit_file', { path, old_string: 'inside', new_string: 'inside.' }];
    case 7:
      return ['host.fs.edit_file', { path, old_string: 'inside', new_string: 'inside ' }];
    case 9:
      return ['host.fs.write_file', { path, text: 'inside' }];
    case 12:
      return ['host.fs.write_file', { path: 'd/sub/new.txt', text: 'inside', create_parents: true }];
    case 14:
      return [
        'host.fs.apply_patch',
        {
          patch: `*** Begin Patch\n*** Add File: d/p.txt\n+inside\n*** Delete File: ${path}\n*** Add File: ${path}\n+inside\n*** End Patch`,
        },
      ];
    case 16:
      return ['host.fs.grep', { pattern: 'E', path: 'd' }];
    case 17:
      return ['host.fs.apply_patch', { patch: '*** Begin Patch\n*** Delete File: d/p.txt\n*** End Patch' }];
    case 18:
      return ['host.fs.list_dir', { path: 'd' }];
    default:
      return ['host.fs.read_file', { path }];
  }
}

/** Runs OPERATIONS or more, until a call was refused and one succeeded; returns the calls that returned outside bytes. */
async function underAttack(attack: string, operationAt: (round: number) => readonly [string, JsonObject]) {
  attacker = new Worker(attack, { eval: true, workerData: { workspace, outside, flag } });
  const context = callContext();
  const outcomes = new Map<string, number>();
  const escapes: string[] = [];
  let round = 0;
  for (; round < OPERATIONS || !outcomes.has('forbidden') || !outcomes.has('ok'); round += 1) {
    const [id, args] = operationAt(round);
    const { text, code = 'ok', data }: HostOutcome = await host.run(id, args, context);
    outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
    if (text.includes(MARK) || JSON.stringify(data ?? {}).includes(MARK)) {
      escapes.push(`round ${round}: ${id} ${JSON.stringify(args)}: ${code} ${text}`);
    }
  }
  const summary = [...outcomes].sort(([, a], [, b]) => b - a).map(([code, count]) => `${code} ${count}`);
  process.stdout.write(`race: ${round} operations, ${Atomics.load(counters, 1)} swaps (${summary.join(', ')})\n`);
  return escapes;
}

const attacks = [
  { name: 'directories and files that are replaced by links', attack: SWAPPED, operationAt: operation },
  {
    name: 'a hard link that is created and removed',
    attack: LINKED,
    operationAt: () => ['host.fs.read_file', { path: 'e/file.txt' }] as const,
  },
];

test.each(attacks)(
  `${OPERATIONS} operations against $name return nothing from outside and change nothing outside`,
  { timeout: 3_600_000 },
  async ({ attack, operationAt }) => {
    expect(await underAttack(attack, operationAt)).toEqual([]);
    expect(readdirSync(outside)).toEqual(['file.txt']);
    expect(readFileSync(join(outside, 'file.txt'), 'utf8')).toBe(MARK);
  },
);
