// A bridge's ledger: what it has confirmed as noted is found by the next process, wherever this one died.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openBridgeLedger } from '../../../bridge/ledger/bridge-ledger.ts';
import { type LedgerDisk, type LedgerFile, openLedgerDirectory } from '../../../bridge/ledger/ledger-disk.ts';
import { type LedgerEntry, type StartedCall, entriesOf } from '../../../bridge/ledger/ledger-entries.ts';
import { lineText, readLines } from '../../../bridge/ledger/ledger-line.ts';
import { isAlive, processTagOf } from '../../../src/files/process-tag.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { type Digest, brand } from '../../../schemas/ids.ts';
import { LEDGER_BYTES_MAX } from '../../../schemas/limits.ts';
import { type DiskFault, type MemoryDisk, newMemoryDisk } from '../../support/bridge/memory-disk.ts';
import { roundsOf } from '../../support/random.ts';

const HASH = `sha256:${'0'.repeat(64)}` as Digest;

const callOf = (number: number): StartedCall => ({
  session_id: brand('s-1'),
  effect_id: brand(`batch-1/c${number}/1`),
  plan_hash: HASH,
});

const settlementOf = (number: number, text = 'é done'): Ingress => ({
  kind: 'ToolCallSettled',
  event_id: brand(`batch-1/c${number}/1/settled`),
  batch_id: brand('batch-1'),
  call_id: brand(`c${number}`),
  plan_hash: HASH,
  attempt: 1,
  result: { success: true },
  output: { text },
});

const openAs = (disk: LedgerDisk, tag: string) =>
  openBridgeLedger(disk, {
    owner: brand(`bridge/${tag}@here`),
    nonce: `n${tag}`,
    tag,
    isAlive: (other) => other === 'alive',
  });

/** The entries that the next process finds. */
async function entriesFound(disk: LedgerDisk, tag = 'next'): Promise<readonly LedgerEntry[]> {
  return (await openAs(disk, tag)).predecessors.flatMap(({ entries }) => entries);
}

/** A disk whose files can be closed at the end, as the system does for a process that dies. */
function closing(disk: LedgerDisk): { readonly disk: LedgerDisk; readonly close: () => Promise<void> } {
  const files: LedgerFile[] = [];
  const create: LedgerDisk['create'] = async (name, bytes) => {
    const file = await disk.create(name, bytes);
    files.push(file);
    return file;
  };
  return {
    disk: { ...disk, create },
    close: async () => {
      for (const file of files) await file.close();
    },
  };
}

/** What the ledger confirmed to a process before it died. */
interface Confirmed {
  readonly open: Map<number, Ingress | null>;
  /** Calls whose start could not be written. */
  readonly refused: Set<number>;
}

type Act = readonly ['start' | 'end' | 'close', number];

async function perform(disk: LedgerDisk, acts: readonly Act[], confirmed: Confirmed): Promise<void> {
  const ledger = await openAs(disk, 'first');
  for (const [act, number] of acts) {
    const running = confirmed.open.has(number);
    if (act === 'start' && !running) {
      await ledger.started(callOf(number)).then(
        () => confirmed.open.set(number, null),
        () => confirmed.refused.add(number),
      );
    } else if (act === 'end' && running) {
      const event = settlementOf(number);
      if (await ledger.ended(callOf(number), event)) confirmed.open.set(number, event);
    } else if (act === 'close' && running) {
      confirmed.open.delete(number);
      ledger.closed(callOf(number));
    }
  }
}

const anyActs = fc.array(fc.tuple(fc.constantFrom('start', 'end', 'close'), fc.integer({ min: 0, max: 4 })), {
  minLength: 1,
  maxLength: 24,
}) as fc.Arbitrary<readonly Act[]>;

function expectFound(entries: readonly LedgerEntry[], { open }: Confirmed): void {
  for (const [number, event] of open) {
    const entry = entries.find(({ effect_id }) => effect_id === callOf(number).effect_id);
    expect(entry, `call ${number} was noted`).toBeDefined();
    if (event !== null) expect(entry?.event).toEqual(event);
  }
}

const newConfirmed = (): Confirmed => ({ open: new Map(), refused: new Set() });

describe('a confirmed note', () => {
  test('is found again, in memory and in a directory', async () => {
    await fc.assert(
      fc.asyncProperty(anyActs, async (acts) => {
        const path = await mkdtemp(join(tmpdir(), 'refold-ledger-'));
        const directory = closing(await openLedgerDirectory(join(path, 'bridges')));
        const memory = newMemoryDisk();
        for (const disk of [memory, directory.disk]) {
          const confirmed = newConfirmed();
          await perform(disk, acts, confirmed);
          memory.powerCut();
          expectFound(await entriesFound(disk), confirmed);
          expect(confirmed.refused.size).toBe(0);
        }
        await directory.close();
        await rm(path, { recursive: true });
      }),
      { numRuns: roundsOf(8, 250) },
    );
  });

  test('is found whichever write fails, and however it fails', async () => {
    const acts: readonly Act[] = [0, 1, 2, 3].flatMap((number) => [
      ['start', number],
      ...(number % 2 === 0 ? ([['end', number]] as const) : []),
      ...(number === 0 ? ([['close', number]] as const) : []),
      ['start', number + 4],
    ]);
    const whole = newMemoryDisk();
    await perform(whole, acts, newConfirmed());
    let refused = 0;
    for (let failing = 1; failing < whole.operations(); failing += 1) {
      for (const kind of ['refused', 'torn', 'lost'] as const) {
        for (const permanent of [false, true]) {
          const disk = newMemoryDisk();
          disk.fault = (operation) => (operation === failing || (permanent && operation > failing) ? kind : null);
          const confirmed = newConfirmed();
          await perform(disk, acts, confirmed);
          disk.fault = () => null;
          disk.powerCut();
          refused += confirmed.refused.size;
          expectFound(await entriesFound(disk), confirmed);
        }
      }
    }
    expect(refused).toBeGreaterThan(0);
  });

  test('is found for any acts and any faults', async () => {
    const kinds = fc.constantFrom<DiskFault[]>(null, null, null, 'refused', 'torn', 'lost');
    await fc.assert(
      fc.asyncProperty(anyActs, fc.array(kinds, { maxLength: 40 }), async (acts, faults) => {
        const disk = newMemoryDisk();
        disk.fault = (operation) => (operation === 0 ? null : (faults[operation - 1] ?? null));
        const confirmed = newConfirmed();
        await perform(disk, acts, confirmed);
        disk.fault = () => null;
        disk.powerCut();
        expectFound(await entriesFound(disk), confirmed);
        expect(confirmed.refused.size).toBeLessThanOrEqual(faults.length);
      }),
      { numRuns: roundsOf(75, 3_000) },
    );
  });

  test('is impossible on a disk that refuses all writes: opening throws', async () => {
    const disk = newMemoryDisk();
    disk.fault = () => 'refused';
    await expect(openAs(disk, 'first')).rejects.toThrow('the disk failed');
  });
});

describe('a damaged file', () => {
  const acts: readonly Act[] = [
    ['start', 0],
    ['end', 0],
    ['start', 1],
    ['close', 0],
    ['start', 2],
  ];

  async function written(): Promise<{ readonly disk: MemoryDisk; readonly name: string; readonly bytes: Uint8Array }> {
    const disk = newMemoryDisk();
    await perform(disk, acts, newConfirmed());
    await Promise.resolve();
    const [[name, bytes]] = [...disk.files] as [[string, Uint8Array]];
    return { disk, name, bytes };
  }

  test('that is cut at any byte holds exactly its complete lines', async () => {
    const { disk, name, bytes } = await written();
    for (let length = 0; length <= bytes.length; length += 1) {
      const cut = bytes.subarray(0, length);
      const whole = Buffer.from(cut).toString('latin1').split('\n').length - 1;
      const lines = readLines(cut);
      expect(lines).toEqual(readLines(bytes).slice(0, whole));
      disk.files.clear();
      disk.files.set(name, cut);
      const [predecessor] = (await openAs(disk, 'next')).predecessors;
      // A file whose owner cannot be read is removed.
      if (whole === 0) expect([predecessor, disk.files.size]).toEqual([undefined, 1]);
      else expect(predecessor?.entries).toEqual([...entriesOf(lines).values()]);
    }
  });

  test('with any bit flipped loses at most two lines', async () => {
    const { bytes } = await written();
    const lines = readLines(bytes);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Uint8Array.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      const left = readLines(flipped);
      expect(left.length).toBeGreaterThanOrEqual(lines.length - 2);
      for (const line of left) expect(lines).toContainEqual(line);
    }
  });
});

describe('a ledger', () => {
  test('stays small however many calls it has noted, and is removed when its bridge ends with no call open', async () => {
    const disk = newMemoryDisk();
    const ledger = await openAs(disk, 'first');
    await ledger.started(callOf(0));
    let largest = 0;
    for (let number = 1; number < 700; number += 1) {
      await ledger.started(callOf(number));
      await ledger.ended(callOf(number), settlementOf(number, 'x'.repeat(4_000)));
      ledger.closed(callOf(number));
      for (const bytes of disk.files.values()) largest = Math.max(largest, bytes.length);
    }
    expect(largest).toBeGreaterThan(LEDGER_BYTES_MAX / 2);
    expect(largest).toBeLessThanOrEqual(LEDGER_BYTES_MAX);
    await ledger.close();
    expect((await entriesFound(disk)).map(({ effect_id }) => effect_id)).toEqual([callOf(0).effect_id]);
    const second = newMemoryDisk();
    const empty = await openAs(second, 'first');
    await empty.started(callOf(1));
    empty.closed(callOf(1));
    await empty.close();
    expect(second.files.size).toBe(0);
  });

  test('does not note a settlement that is too long', async () => {
    const ledger = await openAs(newMemoryDisk(), 'first');
    await ledger.started(callOf(1));
    expect(await ledger.ended(callOf(1), settlementOf(1, 'x'.repeat(70_000)))).toBe(false);
    expect(lineText({ kind: 'ended', ...keyOf(1), event: settlementOf(1, 'x'.repeat(70_000)) })).toBeNull();
  });

  test('of a live process is not claimed, and one of a dead process is claimed by exactly one other', async () => {
    const disk = newMemoryDisk();
    const live = await openAs(disk, 'alive');
    await live.started(callOf(1));
    await (await openAs(disk, 'dead')).started(callOf(2));
    const claims = await Promise.all([openAs(disk, 'x'), openAs(disk, 'y')]);
    const claimed = claims.flatMap(({ predecessors }) => predecessors);
    expect(claimed.map(({ owner, entries }) => [owner, entries.length])).toEqual([['bridge/dead@here', 1]]);
    // If the claimant dies before it has reported everything, the next process claims the file.
    const again = (await openAs(disk, 'z')).predecessors.flatMap(({ entries }) => entries);
    expect(again.map(({ effect_id }) => effect_id)).toEqual([callOf(2).effect_id]);
  });

  test('identifies a call by its plan too, so that another call with the same id is run', async () => {
    const disk = newMemoryDisk();
    await (await openAs(disk, 'dead')).started(callOf(1));
    const next = await openAs(disk, 'next');
    expect(next.find(callOf(1))).toMatchObject({ effect_id: callOf(1).effect_id, event: null });
    expect(next.find({ ...callOf(1), plan_hash: `sha256:${'1'.repeat(64)}` as Digest })).toBeNull();
    expect(next.find(callOf(2))).toBeNull();
  });

  test.each([true, false])(
    'is in the file before the call runs, whether or not it waits for the disk: %s',
    async (synced) => {
      const path = await mkdtemp(join(tmpdir(), 'refold-ledger-'));
      const { disk, close } = closing(await openLedgerDirectory(path, { synced }));
      const ledger = await openAs(disk, 'first');
      await ledger.started(callOf(1));
      const lines = readLines(await disk.read('nfirst@first.ledger'));
      expect(lines.map(({ kind }) => kind)).toEqual(['opened', 'started']);
      await ledger.close();
      await close();
      await rm(path, { recursive: true });
    },
  );

  test('in a directory is one file, and unfinished files of dead processes are removed', async () => {
    const path = await mkdtemp(join(tmpdir(), 'refold-ledger-'));
    const { disk, close } = closing(await openLedgerDirectory(path));
    await disk.create('n@dead.ledger.tmp', new Uint8Array());
    await openAs(disk, 'first');
    expect(await readdir(path)).toEqual(['nfirst@first.ledger']);
    expect(await disk.rename('missing@x.ledger', 'y')).toBe(false);
    await close();
    await rm(path, { recursive: true });
  });
});

const keyOf = (number: number) => {
  const { plan_hash: _, ...key } = callOf(number);
  return key;
};

describe('the tag of a process', () => {
  test('distinguishes this process from another with the same number', () => {
    const tag = processTagOf(process.pid);
    expect(tag).toMatch(/^[\w.]+$/);
    expect(isAlive(tag)).toBe(true);
    const [pid, start, ...place] = tag.split('.');
    expect(isAlive([pid, `${Number(start) + 1}`, ...place].join('.'))).toBe(false);
    expect(isAlive([pid, start, 'otherboot', place[1]].join('.'))).toBe(false);
    expect(isAlive(processTagOf(2 ** 30))).toBe(false);
    expect(isAlive('nonsense')).toBe(false);
  });
});
