// The order that conflicting calls must keep (DESIGN section 4, "Planner"): for each call, in observed order, the
// minimal set of earlier calls it waits for. Live claims sit in a tree of key segments; a claim that no later call
// can depend on directly is dropped, so the work follows the claims and the edges, not the square of the calls.
//
// Why dropping is right. Let a call write at key K. Everything at or below K conflicts with it, and whatever overlaps
// something below K overlaps K as well: the write stands between the two, so what is below K can be forgotten. A read
// at K does the same only to reads at K that a write has separated from it.
import type { Claim } from '../schemas/tool-call.ts';

/** Adds calls one by one; {@link ConflictOrder.add} answers with the calls to wait for, oldest first. */
export interface ConflictOrder {
  /** Call `index` (0, 1, 2, …) with its claims; a call that is not parallel-safe conflicts with every other. */
  add(parallelSafe: boolean, claims: readonly Claim[]): readonly number[];
}

interface Node {
  readonly children: Map<string, Node>;
  /** Live writes and reads at this very key: call indexes, ascending. */
  writes: number[];
  reads: number[];
  /** What the last read here had to wait for, and the writes below it since: null before the first read. */
  seen: { readonly waits: readonly number[]; readonly writesSince: number[] } | null;
}

const newNode = (): Node => ({ children: new Map(), writes: [], reads: [], seen: null });

export function newConflictOrder(): ConflictOrder {
  let root = newNode();
  let count = 0;
  /** Calls after the barrier are ordered by claims; everything before waits behind the barrier, or is it. */
  let barrier = -1;
  /** Of the calls after the barrier: whom each waits for, and all it comes after as bits counted from the barrier. */
  let waits: (readonly number[])[] = [];
  let reach: Uint32Array[] = [];

  const bitOf = (call: number): number => call - barrier - 1;

  /** Keeps only the candidates that no other candidate comes after; ascending. */
  function minimal(candidates: ReadonlySet<number>): readonly number[] {
    if (candidates.size < 2) return [...candidates];
    const newestFirst = Uint32Array.from(candidates).sort().reverse();
    const covered = new Uint32Array((bitOf(newestFirst[0] as number) >>> 5) + 1);
    const kept: number[] = [];
    for (const candidate of newestFirst) {
      if (hasBit(covered, bitOf(candidate))) continue;
      kept.push(candidate);
      addBits(covered, reach[bitOf(candidate)] as Uint32Array);
    }
    return kept.reverse();
  }

  function addBarrier(call: number): readonly number[] {
    const waitedFor = new Set(waits.flat());
    const tails = waits.map((_, index) => barrier + 1 + index).filter((earlier) => !waitedFor.has(earlier));
    const preds = tails.length === 0 && barrier >= 0 ? [barrier] : tails;
    root = newNode();
    barrier = call;
    waits = [];
    reach = [];
    return preds;
  }

  function addOrdered(call: number, claims: readonly Claim[]): readonly number[] {
    const candidates = new Set<number>();
    // What each read claim waits for, by its key: the next read at that key starts from it.
    const readWaits = new Map<string, readonly number[]>();
    for (const { key, access } of claims) {
      const path = openPath(root, key);
      const found = access === 'write' ? collectForWrite(path) : minimal(collectForRead(path));
      if (access === 'read') readWaits.set(key, [...found]);
      for (const candidate of found) candidates.add(candidate);
    }
    const preds = minimal(candidates);
    for (const { key, access } of claims) {
      const path = openPath(root, key);
      if (access === 'write') insertWrite(path, call);
      else insertRead(path.at(-1) as Node, call, readWaits.get(key) ?? []);
    }
    const row = new Uint32Array((bitOf(call) >>> 5) + 1);
    for (const pred of preds) {
      addBits(row, reach[bitOf(pred)] as Uint32Array);
      setBit(row, bitOf(pred));
    }
    reach.push(row);
    waits.push(preds);
    return preds.length === 0 && barrier >= 0 ? [barrier] : preds;
  }

  return {
    add(parallelSafe, claims) {
      const call = count;
      count += 1;
      return parallelSafe ? addOrdered(call, claims) : addBarrier(call);
    },
  };
}

const hasBit = (row: Uint32Array, bit: number): boolean => ((row[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;

function setBit(row: Uint32Array, bit: number): void {
  row[bit >>> 5] = (row[bit >>> 5] ?? 0) | (1 << (bit & 31));
}

function addBits(row: Uint32Array, more: Uint32Array): void {
  for (let word = 0; word < more.length; word += 1) row[word] = (row[word] ?? 0) | (more[word] ?? 0);
}

/** The nodes from the root to the key, made where they are missing. */
function openPath(root: Node, key: string): Node[] {
  const path = [root];
  let node = root;
  for (const segment of key.split('/')) {
    let child = node.children.get(segment);
    if (child === undefined) {
      child = newNode();
      node.children.set(segment, child);
    }
    path.push(child);
    node = child;
  }
  return path;
}

// An entry above the key that is older than a write at or nearer to the key is already behind that write.
function collectAbove(path: readonly Node[], withReads: boolean, candidates: Set<number>): void {
  let floor = -1;
  for (let depth = path.length - 1; depth >= 0; depth -= 1) {
    const node = path[depth] as Node;
    const newestWrite = node.writes.at(-1) ?? -1;
    takeNewer(node.writes, floor, candidates);
    if (withReads) takeNewer(node.reads, floor, candidates);
    if (newestWrite > floor) floor = newestWrite;
  }
}

function takeNewer(calls: readonly number[], floor: number, candidates: Set<number>): void {
  for (let index = calls.length - 1; index >= 0 && (calls[index] as number) > floor; index -= 1) {
    candidates.add(calls[index] as number);
  }
}

function collectForWrite(path: readonly Node[]): ReadonlySet<number> {
  const candidates = new Set<number>();
  collectAbove(path, true, candidates);
  collectBelow(path.at(-1) as Node, true, candidates);
  return candidates;
}

function collectForRead(path: readonly Node[]): ReadonlySet<number> {
  const node = path.at(-1) as Node;
  // The last read here saw everything older. Writes since then stand between it and this one.
  if (node.seen !== null) return new Set(node.seen.writesSince.length > 0 ? node.seen.writesSince : node.seen.waits);
  const candidates = new Set<number>();
  collectAbove(path, false, candidates);
  collectBelow(node, false, candidates);
  return candidates;
}

function collectBelow(top: Node, withReads: boolean, candidates: Set<number>): void {
  const stack = [...top.children.values()];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    for (const call of node.writes) candidates.add(call);
    if (withReads) for (const call of node.reads) candidates.add(call);
    for (const child of node.children.values()) stack.push(child);
  }
}

function insertWrite(path: readonly Node[], call: number): void {
  const node = path.at(-1) as Node;
  node.children.clear();
  node.reads = [];
  node.writes = [call];
  node.seen = null;
  for (let depth = path.length - 2; depth >= 0; depth -= 1) path[depth]?.seen?.writesSince.push(call);
}

function insertRead(node: Node, call: number, waits: readonly number[]): void {
  if (node.seen === null || node.seen.writesSince.length > 0) {
    // Reads that a write has followed are behind that write, and so behind this read.
    if (node.seen !== null) node.reads = [];
    node.seen = { waits, writesSince: [] };
  }
  node.reads.push(call);
}
