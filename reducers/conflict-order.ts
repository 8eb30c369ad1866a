// The order that conflicting calls must keep (DESIGN section 4, "Planner"): for each call, in observed order, the
// minimal set of earlier calls it waits for. Live claims sit in a tree of key segments; a claim that no later call
// can depend on directly is dropped, so the work follows the claims and the edges, not the square of the calls.
//
// Why dropping is right. Let a call write at key K. Everything at or below K conflicts with it, and whatever overlaps
// something below K overlaps K as well: the write stands between the two, so what is below K can be forgotten. A read
// at K does the same only to reads at K that a write has separated from it.
import type { Claim } from '../schemas/tool-call.ts';
import { newReachRows } from './reach-rows.ts';

/** Adds calls one by one; {@link ConflictOrder.add} answers with the calls to wait for, oldest first. */
export interface ConflictOrder {
  /** Call `index` (0, 1, 2, …) with its claims; a call that is not parallel-safe conflicts with every other. */
  add(parallelSafe: boolean, claims: readonly Claim[]): readonly number[];
}

interface Node {
  children: Map<string, Node> | null;
  /** Live writes and reads at this very key: call indexes, ascending. */
  writes: number[];
  reads: number[];
  /** What the last read here had to wait for, and the writes below it since: null before the first read. */
  seen: { readonly waits: readonly number[]; readonly writesSince: number[] } | null;
}

const newNode = (): Node => ({ children: null, writes: [], reads: [], seen: null });

export function newConflictOrder(): ConflictOrder {
  let root = newNode();
  let count = 0;
  /** Calls after the barrier are ordered by claims; everything before waits behind the barrier, or is it. */
  let barrier = -1;
  /** Of the calls after the barrier, counted from it: whom each waits for, and all it comes after. */
  let waits: (readonly number[])[] = [];
  let reach = newReachRows();

  function addBarrier(call: number): readonly number[] {
    const waitedFor = new Set(waits.flat());
    const tails = waits.flatMap((_, index) => (waitedFor.has(index) ? [] : [barrier + 1 + index]));
    const preds = tails.length === 0 && barrier >= 0 ? [barrier] : tails;
    root = newNode();
    barrier = call;
    waits = [];
    reach = newReachRows();
    return preds;
  }

  function addOrdered(claims: readonly Claim[]): readonly number[] {
    const index = waits.length;
    const found = claims.map(({ key, access }) => {
      const path = openPath(root, key);
      return { path, waits: access === 'write' ? collectForWrite(path) : reach.minimal(collectForRead(path)) };
    });
    const [only] = found;
    const preds = reach.minimal(found.length === 1 && only !== undefined ? only.waits : union(found));
    insert(index, claims, found);
    reach.push(preds);
    waits.push(preds);
    return preds.length === 0 && barrier >= 0 ? [barrier] : preds.map((pred) => barrier + 1 + pred);
  }

  /** Writes first: they drop what is below them, so a call with several claims looks each path up again. */
  function insert(call: number, claims: readonly Claim[], found: readonly Found[]): void {
    const pathOf = (index: number, key: string): readonly Node[] =>
      claims.length === 1 ? (found[index] as Found).path : openPath(root, key);
    let writes = false;
    for (const [index, { key, access }] of claims.entries()) {
      if (access !== 'write') continue;
      insertWrite(pathOf(index, key), call);
      writes = true;
    }
    for (const [index, { key, access }] of claims.entries()) {
      // Beside a write of the same call, what the read alone waited for does not tell the next one enough.
      const waits = writes ? null : (found[index] as Found).waits;
      if (access === 'read') insertRead(pathOf(index, key).at(-1) as Node, call, waits);
    }
  }

  return {
    add(parallelSafe, claims) {
      const call = count;
      count += 1;
      return parallelSafe ? addOrdered(claims) : addBarrier(call);
    },
  };
}

/** The nodes from the root to the key, made where they are missing. */
function openPath(root: Node, key: string): Node[] {
  const path = [root];
  let node = root;
  for (const segment of key.split('/')) {
    node.children ??= new Map();
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

interface Found {
  readonly path: readonly Node[];
  readonly waits: readonly number[];
}

const union = (found: readonly Found[]): readonly number[] => found.flatMap(({ waits }) => waits);

// An entry above the key that is older than a write at or nearer to the key is already behind that write.
function collectAbove(path: readonly Node[], withReads: boolean, candidates: number[]): void {
  let floor = -1;
  for (let depth = path.length - 1; depth >= 0; depth -= 1) {
    const node = path[depth] as Node;
    const newestWrite = node.writes.at(-1) ?? -1;
    takeNewer(node.writes, floor, candidates);
    if (withReads) takeNewer(node.reads, floor, candidates);
    if (newestWrite > floor) floor = newestWrite;
  }
}

function takeNewer(calls: readonly number[], floor: number, candidates: number[]): void {
  for (let index = calls.length - 1; index >= 0 && (calls[index] as number) > floor; index -= 1) {
    candidates.push(calls[index] as number);
  }
}

function collectForWrite(path: readonly Node[]): readonly number[] {
  const candidates: number[] = [];
  collectAbove(path, true, candidates);
  collectBelow(path.at(-1) as Node, true, candidates);
  return candidates;
}

function collectForRead(path: readonly Node[]): readonly number[] {
  const node = path.at(-1) as Node;
  // The last read here saw everything older. Writes since then stand between it and this one.
  if (node.seen !== null) return node.seen.writesSince.length > 0 ? [...node.seen.writesSince] : node.seen.waits;
  const candidates: number[] = [];
  collectAbove(path, false, candidates);
  collectBelow(node, false, candidates);
  return candidates;
}

function collectBelow(top: Node, withReads: boolean, candidates: number[]): void {
  if (top.children === null) return;
  const stack = [...top.children.values()];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    candidates.push(...node.writes);
    if (withReads) candidates.push(...node.reads);
    if (node.children !== null) stack.push(...node.children.values());
  }
}

function insertWrite(path: readonly Node[], call: number): void {
  const node = path.at(-1) as Node;
  node.children = null;
  node.reads = [];
  node.writes = [call];
  node.seen = null;
  for (let depth = path.length - 2; depth >= 0; depth -= 1) path[depth]?.seen?.writesSince.push(call);
}

function insertRead(node: Node, call: number, waits: readonly number[] | null): void {
  const separated = node.seen !== null && node.seen.writesSince.length > 0;
  // Reads that a write has followed are behind that write, and so behind this read.
  if (separated) node.reads = [];
  if (waits === null) node.seen = null;
  else if (node.seen === null || separated) node.seen = { waits, writesSince: [] };
  node.reads.push(call);
}
