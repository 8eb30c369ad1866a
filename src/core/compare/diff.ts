// How two JSON values differ: the paths (RFC 6901) with different values. The number of differences kept is bounded; the
// others are counted.
import { pointerSegment } from '../../../schemas/rejection.ts';
import { type Json, type JsonObject, isPlainObject } from '../../../schemas/json.ts';

/** One path at which two values differ. `a` or `b` is absent when that side has nothing at the path. */
export interface JsonDifference {
  readonly path: string;
  readonly a?: Json;
  readonly b?: Json;
}

export interface JsonDiff {
  /** The first differences, in the order of canonical JSON. */
  readonly differences: readonly JsonDifference[];
  /** How many more there are. */
  readonly rest: number;
}

/** True for a path that is not compared, nor anything below it. */
export type IgnorePath = (path: string) => boolean;

/**
 * The paths at which `a` and `b` differ, at most `max` of them; none exactly when their canonical texts are equal. Paths
 * are as long as possible: two objects, or two arrays, are compared inside.
 */
export function diffJson(a: Json, b: Json, max: number, ignore: IgnorePath = () => false): JsonDiff {
  const differences: JsonDifference[] = [];
  let rest = 0;

  function note(difference: JsonDifference): void {
    if (differences.length < max) differences.push(difference);
    else rest += 1;
  }

  function visit(path: string, before: Json | undefined, after: Json | undefined): void {
    if (before === after || ignore(path)) return;
    if (before === undefined || after === undefined) {
      note({ path, ...(before === undefined ? {} : { a: before }), ...(after === undefined ? {} : { b: after }) });
    } else if (Array.isArray(before) && Array.isArray(after)) {
      const length = Math.max(before.length, after.length);
      for (let index = 0; index < length; index += 1) {
        visit(path + pointerSegment(index), before[index] as Json | undefined, after[index] as Json | undefined);
      }
    } else if (isPlainObject(before) && isPlainObject(after)) {
      for (const key of new Set([...Object.keys(before), ...Object.keys(after)].sort())) {
        visit(path + pointerSegment(key), own(before, key), own(after, key));
      }
    } else note({ path, a: before, b: after });
  }

  visit('', a, b);
  return { differences, rest };
}

// Inherited properties (`constructor`, `toString`) are not fields.
const own = (object: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined;
