// Compares shapes with those of the golden file, as a reader of old records sees them: whatever a golden shape accepted
// must still be accepted. Every other change is a widening. A JSON Schema keyword that this file does not know must not
// change.
import type { Json, JsonObject } from '../../../schemas/json.ts';
import type { Shapes } from './stored-shapes.ts';

export interface ShapeChange {
  /** The shape, and the path inside it. */
  readonly at: string;
  readonly what: string;
}

export interface ShapeChanges {
  /** Something that was accepted is refused now. */
  readonly breaking: readonly ShapeChange[];
  /** Something that was refused is accepted now; `what` says whether EVENT_VERSION must rise. */
  readonly widening: readonly ShapeChange[];
}

interface Lists {
  readonly breaking: ShapeChange[];
  readonly widening: ShapeChange[];
}

export function compareShapes(golden: Shapes, now: Shapes): ShapeChanges {
  const changes: Lists = { breaking: [], widening: [] };
  for (const [name, shape] of golden) {
    const current = now.get(name);
    if (current === undefined) changes.breaking.push({ at: name, what: 'the shape was removed' });
    else compareSchema(changes, name, shape, current);
  }
  for (const name of now.keys()) {
    if (!golden.has(name)) changes.widening.push({ at: name, what: `a new shape; ${VERSION_STAYS}` });
  }
  return changes;
}

const VERSION_STAYS = 'EVENT_VERSION stays: an older release refuses it';
const VERSION_RISES = 'EVENT_VERSION must rise: an older release accepts the field and ignores it';

type Compare = (changes: Lists, at: string, was: Json | undefined, is: Json | undefined) => void;

function compareSchema(changes: Lists, at: string, was: JsonObject, is: JsonObject): void {
  const keywords = new Set([...Object.keys(was), ...Object.keys(is)]);
  for (const keyword of keywords) {
    if (keyword === 'properties' || keyword === 'required' || keyword === 'additionalProperties') continue;
    const compare = KEYWORDS[keyword] ?? unchanged;
    compare(changes, `${at}/${keyword}`, was[keyword], is[keyword]);
  }
  compareObjects(changes, at, was, is);
}

const unchanged: Compare = (changes, at, was, is) => {
  if (JSON.stringify(was) === JSON.stringify(is)) return;
  changes.breaking.push({ at, what: `${JSON.stringify(was)} became ${JSON.stringify(is)}` });
};

/** A bound that may be raised or dropped, or one that may be lowered or dropped. */
const bound =
  (direction: 'raise' | 'lower'): Compare =>
  (changes, at, was, is) => {
    if (was === is) return;
    const what = `${boundText(was)} became ${boundText(is)}`;
    const widens =
      is === undefined ||
      (was !== undefined && (direction === 'raise' ? Number(is) > Number(was) : Number(is) < Number(was)));
    if (widens) changes.widening.push({ at, what: `${what}; ${VERSION_STAYS}` });
    else changes.breaking.push({ at, what });
  };

const boundText = (value: Json | undefined): string => (value === undefined ? 'no bound' : JSON.stringify(value));

/** Values of which each must remain. */
const values: Compare = (changes, at, was, is) => {
  const [before, after] = [was, is].map((list) =>
    Array.isArray(list) ? list.map((item) => JSON.stringify(item)) : null,
  );
  if (before === null || after === null) {
    unchanged(changes, at, was, is);
    return;
  }
  for (const value of before ?? []) {
    if (after?.includes(value) === false) changes.breaking.push({ at, what: `${value} was removed` });
  }
  for (const value of after ?? []) {
    if (before?.includes(value) === false) changes.widening.push({ at, what: `${value} was added; ${VERSION_STAYS}` });
  }
};

/** Alternatives of which each must remain: the same one, or a wider one in its place. */
const alternatives: Compare = (changes, at, was, is) => {
  if (!Array.isArray(was) || !Array.isArray(is)) {
    unchanged(changes, at, was, is);
    return;
  }
  const left = [...(is as readonly JsonObject[])];
  for (const before of was as readonly JsonObject[]) {
    const index = left.findIndex((after) => accepts(before, after));
    if (index === -1) changes.breaking.push({ at, what: `the alternative ${nameOf(before)} was removed or narrowed` });
    else compareSchema(changes, `${at}/${nameOf(before)}`, before, left.splice(index, 1)[0] as JsonObject);
  }
  for (const added of left)
    changes.widening.push({ at, what: `the alternative ${nameOf(added)} was added; ${VERSION_STAYS}` });
};

function accepts(was: JsonObject, is: JsonObject): boolean {
  const changes: Lists = { breaking: [], widening: [] };
  compareSchema(changes, '', was, is);
  return changes.breaking.length === 0;
}

const nameOf = (schema: JsonObject): string =>
  typeof schema['$ref'] === 'string' ? schema['$ref'] : JSON.stringify(schema);

const nested: Compare = (changes, at, was, is) => {
  if (isSchema(was) && isSchema(is)) compareSchema(changes, at, was, is);
  else unchanged(changes, at, was, is);
};

const isSchema = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const KEYWORDS: Readonly<Record<string, Compare>> = {
  maxLength: bound('raise'),
  maximum: bound('raise'),
  maxItems: bound('raise'),
  maxProperties: bound('raise'),
  minLength: bound('lower'),
  minimum: bound('lower'),
  minItems: bound('lower'),
  enum: values,
  anyOf: alternatives,
  oneOf: alternatives,
  items: nested,
  propertyNames: nested,
};

function compareObjects(changes: Lists, at: string, was: JsonObject, is: JsonObject): void {
  const [before, after] = [propertiesOf(was), propertiesOf(is)];
  for (const [name, schema] of Object.entries(before)) {
    const current = after[name];
    if (current === undefined) changes.breaking.push({ at: `${at}/${name}`, what: 'the field was removed' });
    else compareSchema(changes, `${at}/${name}`, schema, current);
  }
  const [required, requiredNow] = [requiredOf(was), requiredOf(is)];
  for (const name of requiredNow) {
    if (!required.includes(name)) changes.breaking.push({ at: `${at}/${name}`, what: 'the field is required now' });
  }
  for (const name of required) {
    if (!requiredNow.includes(name) && after[name] !== undefined) {
      changes.widening.push({ at: `${at}/${name}`, what: `the field is optional now; ${VERSION_STAYS}` });
    }
  }
  const closed = was['additionalProperties'] === false;
  for (const name of Object.keys(after)) {
    if (before[name] !== undefined || requiredNow.includes(name)) continue;
    changes.widening.push({
      at: `${at}/${name}`,
      what: `an optional field; ${closed ? VERSION_STAYS : VERSION_RISES}`,
    });
  }
  compareRest(changes, `${at}/additionalProperties`, was['additionalProperties'], is['additionalProperties']);
}

/** Fields without a name of their own: refused (`false`), of one schema, or anything. */
const compareRest: Compare = (changes, at, was, is) => {
  if (JSON.stringify(was) === JSON.stringify(is)) return;
  if (isSchema(was) && isSchema(is)) compareSchema(changes, at, was, is);
  else if (was === false) changes.widening.push({ at, what: `further fields are accepted; ${VERSION_STAYS}` });
  else changes.breaking.push({ at, what: `${JSON.stringify(was)} became ${JSON.stringify(is)}` });
};

const propertiesOf = (schema: JsonObject): Readonly<Record<string, JsonObject>> =>
  (schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>;

const requiredOf = (schema: JsonObject): readonly string[] => (schema['required'] ?? []) as readonly string[];
