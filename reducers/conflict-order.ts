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
  readonly parent: Node | null;
  children: Map<string, Node> | null;
  /** Live writes and reads at this very key: call indexes, ascending; null for none. */
  writes: number[] | null;
  reads: number[] | null;
  /** What the last read here had to wait for, and the writes below it since: null before the first read. */
  seen: { readonly waits: readonly number[]; readonly writesSince: number[] } | null;
}

const newNode = (parent: Node | null): Node => ({ parent, children: null, writes: null, reads: null, seen: null });

export function newConflictOrder(): ConflictOrder {
  let root = newNode(null);
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
    root = newNode(null);
    barrier = call;
    waits = [];
    reach = newReachRows();
    return preds;
  }

  function addOrdered(claims: readonly Claim[]): readonly number[] {
    const index = waits.length;
    const found = claims.map(({ key, access }) => {
      const node = openNode(root, key);
      return { node, waits: access === 'write' ? collectForWrite(node) : reach.minimal(collectForRead(node)) };
    });
    const [only] = found;
    const preds = reach.minimal(found.length === 1 && only !== undefined ? only.waits : union(found));
    insert(index, claims, found);
    reach.push(preds);
    waits.push(preds);
    return preds.length === 0 && barrier >= 0 ? [barrier] : preds.map((pred) => barrier + 1 + pred);
  }

  /** Writes first: they drop what is below them, so a call with several claims looks each node up again. */
  function insert(call: number, claims: readonly Claim[], found: readonly Found[]): void {
    const nodeOf = (index: number, key: string): Node =>
      claims.length === 1 ? (found[index] as Found).node : openNode(root, key);
    let writes = false;
    for (const [index, { key, access }] of claims.entries()) {
      if (access !== 'write') continue;
      insertWrite(nodeOf(index, key), call);
      writes = true;
    }
    for (const [index, { key, access }] of claims.entries()) {
      // Beside a write of the same call, what the read alone waited for does not tell the next one enough.
      const waits = writes ? null : (found[index] as Found).waits;
      if (access === 'read') insertRead(nodeOf(index, key), call, waits);
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

/** The node of the key; it and those above it are made where they are missing. */
function openNode(root: Node, key: string): Node {
  let node = root;
  for (let from = 0; from <= key.length;) {
    const slash = key.indexOf('/', from);
    const end = slash === -1 ? key.length : slash;
    const segment = key.slice(from, end);
    node.children ??= new Map();
    let child = node.children.get(segment);
    if (child === undefined) {
      child = newNode(node);
      node.children.set(segment, child);
    }
    node = child;
    from = end + 1;
  }
  return node;
}

interface Found {
  readonly node: Node;
  readonly waits: readonly number[];
}

const union = (found: readonly Found[]): readonly number[] => found.flatMap(({ waits }) => waits);

// An entry above the key that is older than a write at or nearer to the key is already behind that write.
function collectAbove(from: Node, withReads: boolean, candidates: number[]): void {
  let floor = -1;
  for (let node: Node | null = from; node !== null; node = node.parent) {
    const { writes, reads } = node;
    if (withReads && reads !== null) takeNewer(reads, floor, candidates);
    if (writes === null) continue;
    takeNewer(writes, floor, candidates);
    floor = Math.max(floor, writes.at(-1) ?? -1);
  }
}

function takeNewer(calls: readonly number[], floor: number, candidates: number[]): void {
  for (let index = calls.length - 1; index >= 0 && (calls[index] as number) > floor; index -= 1) {
    candidates.push(calls[index] as number);
  }
}

function collectForWrite(node: Node): readonly number[] {
  const candidates: number[] = [];
  collectAbove(node, true, candidates);
  collectBelow(node, true, candidates);
  return candidates;
}

function collectForRead(node: Node): readonly number[] {
  // The last read here saw everything older. Writes since then stand between it and this one.
  if (node.seen !== null) return node.seen.writesSince.length > 0 ? [...node.seen.writesSince] : node.seen.waits;
  const candidates: number[] = [];
  collectAbove(node, false, candidates);
  collectBelow(node, false, candidates);
  return candidates;
}

function collectBelow(top: Node, withReads: boolean, candidates: number[]): void {
  if (top.children === null) return;
  const stack = [...top.children.values()];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.writes !== null) candidates.push(...node.writes);
    if (withReads && node.reads !== null) candidates.push(...node.reads);
    if (node.children !== null) stack.push(...node.children.values());
  }
}

function insertWrite(node: Node, call: number): void {
  node.children = null;
  node.reads = null;
  node.writes = [call];
  node.seen = null;
  for (let above = node.parent; above !== null; above = above.parent) above.seen?.writesSince.push(call);
}

function insertRead(node: Node, call: number, waits: readonly number[] | null): void {
  const separated = node.seen !== null && node.seen.writesSince.length > 0;
  // Reads that a write has followed are behind that write, and so behind this read.
  if (separated) node.reads = null;
  if (waits === null) node.seen = null;
  else if (node.seen === null || separated) node.seen = { waits, writesSince: [] };
  if (node.reads === null) node.reads = [call];
  else node.reads.push(call);
}
