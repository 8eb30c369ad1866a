// Whether a plan orders all calls that conflict: two calls conflict when either must run alone, or two of their claims
// overlap and one is a write; a key covers itself and every key below it. Written apart from the planner, which it checks.
import type { CallId } from '../../../schemas/ids.ts';
import type { PlannedToolCall, ToolBatchPlan } from '../../../schemas/plan.ts';

/** For each call, the first that it conflicts with and does not wait for, and calls it waits for that are not before it. */
export function unorderedIn({ planned_calls: calls, execution_plan: { after } }: ToolBatchPlan): readonly string[] {
  const faults: string[] = [];
  const places = new Map<CallId, number>();
  const before: Bits[] = [];
  const touched = newTouched();
  for (const [place, call] of calls.entries()) {
    const reached: Bits = new Uint32Array((calls.length >> 5) + 1);
    for (const id of after[call.call_id] ?? []) {
      const earlier = places.get(id);
      if (earlier === undefined) faults.push(`"${call.call_id}" waits for "${id}", which is not a call before it`);
      else addAll(reached, before[earlier] as Bits, earlier);
    }
    const free = calls[touched.findFree(call, reached) ?? -1];
    if (free !== undefined) {
      faults.push(`"${free.call_id}" and "${call.call_id}" conflict, and neither waits for the other`);
    }
    touched.add(call);
    places.set(call.call_id, place);
    before.push(reached);
  }
  return faults;
}

/** One bit for each call of the plan: a batch of ten thousand calls has fifty million pairs. */
type Bits = Uint32Array;

const has = (bits: Bits, at: number): boolean => (((bits[at >> 5] ?? 0) >>> (at & 31)) & 1) === 1;

/** Adds a call and all that it waits for. */
function addAll(reached: Bits, others: Bits, call: number): void {
  for (let word = 0; word < others.length; word += 1) reached[word] = (reached[word] ?? 0) | (others[word] ?? 0);
  reached[call >> 5] = (reached[call >> 5] ?? 0) | (1 << (call & 31));
}

interface Touched {
  /** The first call so far that conflicts with this one and is not reached; null when there is none. */
  findFree(call: PlannedToolCall, reached: Bits): number | null;
  /** Adds the next call. */
  add(call: PlannedToolCall): void;
}

interface Claimants {
  readonly read: number[];
  readonly write: number[];
}

/** The calls so far by what they claim. */
function newTouched(): Touched {
  let count = 0;
  const alone: number[] = [];
  /** Calls that claim the key itself. */
  const at = new Map<string, Claimants>();
  /** Calls that claim a key below it. */
  const below = new Map<string, Claimants>();

  const rivals = ({ key, access }: PlannedToolCall['claims'][number]): readonly (readonly number[])[] => {
    const all = [below.get(key), at.get(key), ...above(key).map((prefix) => at.get(prefix))];
    return all.flatMap((found) => {
      if (found === undefined) return [];
      return access === 'write' ? [found.write, found.read] : [found.write];
    });
  };

  return {
    findFree({ parallel_safe, claims }, reached) {
      const lists = parallel_safe
        ? [alone, ...claims.flatMap(rivals)]
        : [Array.from({ length: count }, (_, one) => one)];
      let first: number | null = null;
      for (const list of lists) {
        const free = list.find((earlier) => !has(reached, earlier));
        if (free !== undefined && (first === null || free < first)) first = free;
      }
      return first;
    },
    add({ parallel_safe, claims }) {
      if (!parallel_safe) alone.push(count);
      for (const { key, access } of claims) {
        claimantsOf(at, key)[access].push(count);
        for (const prefix of above(key)) claimantsOf(below, prefix)[access].push(count);
      }
      count += 1;
    },
  };
}

/** The keys that cover this one. */
const above = (key: string): readonly string[] => [...key.matchAll(/\//g)].map(({ index }) => key.slice(0, index));

function claimantsOf(claimants: Map<string, Claimants>, key: string): Claimants {
  const known = claimants.get(key) ?? { read: [], write: [] };
  claimants.set(key, known);
  return known;
}
