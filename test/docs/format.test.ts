// docs/format.md names every field of the records and every kind of event, as the codecs have them.
import { expect, test } from 'vitest';
import {
  Checkpoint,
  EventRecord,
  Genesis,
  GenesisRecord,
  INGRESS_KINDS,
  eventCodec,
  limits,
} from '../../schemas/index.ts';
import { readDocument } from '../support/documents.ts';

const text = await readDocument('docs/format.md');

/** The first cells of the tables below a heading, up to the next one. */
function cells(heading: string): readonly string[] {
  const below = text.split(`### ${heading}\n`)[1]?.split(/\n#{2,3} /)[0] ?? '';
  return [...below.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name = '']) => name);
}

const fieldsOf = ({ jsonSchema }: { readonly jsonSchema: object }): readonly string[] =>
  Object.keys((jsonSchema as { readonly properties: object }).properties);

test('the fields of a genesis record and of its genesis are listed', () => {
  expect([...cells('Genesis record')].sort()).toEqual([...fieldsOf(GenesisRecord), ...fieldsOf(Genesis)].sort());
});

test('the fields of an event record are listed', () => {
  expect([...cells('Event record')].sort()).toEqual([...fieldsOf(EventRecord)].sort());
});

test('the envelope of an event and every kind are listed', () => {
  const shared = INGRESS_KINDS.map((kind) => fieldsOf(eventCodec(kind))).reduce((all, fields) =>
    all.filter((name) => fields.includes(name)),
  );
  expect([...cells('Event')].sort()).toEqual([...shared].sort());
  const below = text.split('### Event\n')[1]?.split(/\n## /)[0] ?? '';
  const listed = [...below.matchAll(/^\| [a-z ]+ \| (`.+`) \|$/gm)].flatMap(
    ([, kinds = '']) => kinds.match(/[\w.]+/g) ?? [],
  );
  expect([...listed].sort(), 'the table of kinds in docs/format.md, "Event"').toEqual([...INGRESS_KINDS].sort());
});

test('the fields of a checkpoint and the bounds of content are those of the codecs', () => {
  for (const field of fieldsOf(Checkpoint)) if (field !== 'kind') expect(text).toContain(`\`${field}\``);
  expect(text).toContain(`Up to ${limits.INLINE_CHARS_MAX.toLocaleString('en')} UTF-16 units`);
  expect(text).toContain(`up to ${limits.EXCERPT_CHARS} units`);
});
