// Finds the calls that conflict (reducers/conflict.ts has the rule) without comparing all pairs: for each call, in observed
// order, the minimal set of earlier calls it waits for (docs/design.md, "The planner"). Live claims are in a tree of key
// segments. A claim that no later call can depend on directly is dropped, so the work is linear in claims and edges.
//
// Why dropping is correct: when a call writes key K, it conflicts with every claim at or below K. A later claim that
// overlaps one of those overlaps K as well, so it waits for the write, which waits for them. A read of K makes earlier
// reads of K obsolete only when a write came between them.
import type { Claim } from '../schemas/tool-call.ts';
import { newReachRows } from './reach-rows.ts';

/** Adds calls one by one; {@link ConflictOrder.add} returns the calls to wait for, oldest first. */
export interface ConflictOrder {
  /** Call `index` (0, 1, 2, …) with its claims; a call that is not parallel-safe conflicts with every other. */
  add(parallelSafe: boolean, claims: readonly Claim[]): readonly number[];
}

interface Node {
  readonly parent: Node | null;
  children: Map<string, Node> | null;
  /** The calls with a live write or read of exactly this key: indexes, ascending; null for none. */
  writes: number[] | null;
  reads: number[] | null;
  /** What the last read of this key waits for, and the writes below it since; null before the first read. */
  seen: { readonly waits: readonly number[]; readonly writesSince: number[] } | null;
}

const newNode = (parent: Node | null): Node => ({ parent, children: null, writes: null, reads: null, seen: null });

export function newConflictOrder(): ConflictOrder {
  let root = newNode(null);
  let count = 0;
  /** The last call that conflicts with every other. Calls after it are ordered by claims, and all wait for it. */
  let barrier = -1;
  /** For the calls after the barrier, counted from it: what each waits for directly, and all it comes after. */
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

  /** Writes first. They drop nodes below them, so a call with several claims looks up each node again. */
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
      // When the call also writes, the waits of this read alone are not enough for the next read.
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

/** The node of the key; missing nodes on the way are made. */
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

// An entry above the key that is older than a write nearer to the key is skipped: that write already waits for it.
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
  // The last read of this key collected everything older; only writes since then are new.
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
  // A write since then already waits for the earlier reads, and this read waits for the write.
  if (separated) node.reads = null;
  if (waits === null) node.seen = null;
  else if (node.seen === null || separated) node.seen = { waits, writesSince: [] };
  if (node.reads === null) node.reads = [call];
  else node.reads.push(call);
}
