// The state digest by its definition, without a cache and without the encoder under test.
import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../schemas/index.ts';

/** RFC 8785 for values of the value domain. */
export function referenceCanonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => referenceCanonical(item)).join(',')}]`;
  const entries = Object.entries(value as Readonly<Record<string, Json>>).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${referenceCanonical(item)}`).join(',')}}`;
}

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

const digestOf = (value: Json): string => sha256(referenceCanonical(value));

const isContainer = (value: Json): value is JsonObject | readonly Json[] => typeof value === 'object' && value !== null;

const changed = (value: JsonObject, fields: Readonly<Record<string, (item: never) => Json>>): JsonObject =>
  Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      isContainer(item) ? (fields[key]?.(item as never) ?? item) : item,
    ]),
  );

/** Every container of the state is replaced by its digest, and so are the parts of three of them. */
export function referenceStateDigest(state: JsonObject): string {
  const plan = ({ plan_hash, ...rest }: JsonObject): Json => [digestOf(rest), plan_hash as Json];
  const batch = (value: JsonObject): string =>
    digestOf(
      changed(value, {
        observed: digestOf,
        pages: (pages: readonly (readonly Json[])[]) =>
          pages.map((page) => digestOf(page.map((item) => digestOf(item)))),
        plan,
      }),
    );
  const entry = (value: JsonObject): string => digestOf(changed(value, { calls: digestOf }));
  const transcript = (value: JsonObject): string =>
    digestOf(
      changed(value, { open: (open: readonly JsonObject[]) => open.map((item) => entry(item)), sealed: digestOf }),
    );
  const run = (value: JsonObject): string => digestOf(changed(value, { config: digestOf, offer: digestOf }));
  const parts: Readonly<Record<string, (item: never) => Json>> = { active_tool_batch: batch, run, transcript };
  const whole = Object.fromEntries(Object.keys(state).map((key) => [key, parts[key] ?? digestOf]));
  return digestOf(changed(state, whole));
}
