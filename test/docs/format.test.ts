// docs/format.md names every field of the records, every kind of event, every bound and every tag, as the code has them.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import {
  Checkpoint,
  CheckpointHead,
  CheckpointLeaf,
  CheckpointProof,
  CommitRecord,
  type Digest,
  EventId,
  Genesis,
  GenesisRecord,
  INGRESS_KINDS,
  type Json,
  PackageRecord,
  RunEnd,
  SessionId,
  TimeMs,
  brand,
  canonicalText,
  digest,
  eventCodec,
  limits,
} from '../../schemas/index.ts';
import { namesRules } from '../../schemas/rules.ts';
import { checkpointHead, nextChain } from '../../src/core/index.ts';
import { readDocument } from '../support/documents.ts';

const text = await readDocument('docs/format.md');

/** What stands below a heading, up to the next one of its level or above. */
function below(heading: string): string {
  const [level = ''] = heading.split(' ');
  const found = text.split(`${heading}\n`)[1];
  if (found === undefined) throw new Error(`docs/format.md has no heading "${heading}"`);
  return found.split(new RegExp(`\n#{2,${level.length}} `))[0] ?? '';
}

/** The first cells of the tables below a heading, sorted. */
const cells = (heading: string): readonly string[] =>
  [...below(heading).matchAll(/^\| `([a-z_]+)`[^|]* \|/gm)].map(([, name = '']) => name).sort();

interface Described {
  readonly jsonSchema: object;
}

const schemaOf = ({ jsonSchema }: Described) =>
  jsonSchema as {
    readonly properties: Readonly<Record<string, { readonly properties?: object }>>;
    readonly pattern: string;
    readonly maximum: number;
  };

const fieldsOf = (...codecs: readonly Described[]): readonly string[] =>
  [...new Set(codecs.flatMap((codec) => Object.keys(schemaOf(codec).properties)))].sort();

const grouped = (count: number): string => count.toLocaleString('en');

test('the fields of each record are listed', () => {
  expect(cells('### Package record')).toEqual(fieldsOf(PackageRecord));
  expect(cells('### Genesis record')).toEqual([...fieldsOf(GenesisRecord), ...fieldsOf(Genesis)].sort());
  expect(cells('### Commit record')).toEqual(fieldsOf(CommitRecord));
  expect(cells('## Forks')).toEqual(Object.keys(schemaOf(Genesis).properties['forked_from']?.properties ?? {}).sort());
});

test('the envelope of an event and every kind are listed', () => {
  const shared = INGRESS_KINDS.map((kind) => fieldsOf(eventCodec(kind))).reduce((all, fields) =>
    all.filter((name) => fields.includes(name)),
  );
  expect(cells('### Event')).toEqual(shared);
  const listed = [...below('### Event').matchAll(/^\| [a-z ]+ \| (`.+`) \|$/gm)].flatMap(
    ([, kinds = '']) => kinds.match(/[\w.]+/g) ?? [],
  );
  expect([...listed].sort(), 'the table of kinds in docs/format.md, "Event"').toEqual([...INGRESS_KINDS].sort());
  expect(below('### Event')).toContain(
    `An entry of \`ends\` is \`{ ${Object.keys(schemaOf(RunEnd).properties).join(', ')} }\``,
  );
});

test('the fields of a checkpoint, its head and its leaves are listed', () => {
  expect(cells('## Checkpoints')).toEqual(fieldsOf(Checkpoint, CheckpointProof, CheckpointHead, CheckpointLeaf));
});

test('patterns are those of the codecs', () => {
  const genesis = below('### Genesis record');
  expect(schemaOf(SessionId).pattern).toBe('^[A-Za-z0-9][A-Za-z0-9_.-]*$');
  expect(SessionId.is(`a${'-'.repeat(63)}`) && !SessionId.is(`a${'-'.repeat(64)}`)).toBe(true);
  expect(genesis).toContain('`[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`');
  expect(schemaOf(namesRules.since).pattern).toBe(String.raw`^\d+\.\d+\.\d+$`);
  expect(namesRules.since.is(`1.2.${'3'.repeat(28)}`) && !namesRules.since.is(`1.2.${'3'.repeat(29)}`)).toBe(true);
  expect(genesis).toContain('`[0-9]+\\.[0-9]+\\.[0-9]+`, 5 to 32 characters');
  expect(schemaOf(EventId).pattern).toBe(String.raw`^[\x21-\x7e]+$`);
  expect(EventId.is('e'.repeat(128)) && !EventId.is('e'.repeat(129)) && !EventId.is('__proto__')).toBe(true);
  expect(below('### Event')).toContain('`[\\x21-\\x7e]{1,128}`, and not `__proto__`');
});

test('bounds are those of the code', () => {
  for (const said of [
    `1 to ${limits.EVENTS_PER_COMMIT_MAX} events`,
    `has at most ${grouped(limits.BLOB_BYTES_MAX)} bytes, without its line feed`,
    `At most ${limits.JSON_DEPTH_MAX} containers`,
    `At most ${grouped(limits.JSON_NODES_MAX)} values`,
    `up to ${schemaOf(TimeMs).maximum}`,
    `from 0 to ${Number.MAX_SAFE_INTEGER}`,
    `of at most ${grouped(limits.AUDIT_FILE_BYTES_MAX)} bytes`,
    `at most ${grouped(limits.CHECKPOINT_SESSIONS_MAX)} leaves`,
    `at most ${limits.PROOF_STEPS_MAX} digests`,
    `Up to ${grouped(limits.INLINE_CHARS_MAX)} UTF-16 units`,
    `up to ${limits.EXCERPT_CHARS} units`,
  ]) {
    expect(text.replaceAll(/\s+/g, ' ')).toContain(said);
  }
});

test('the examples of numbers are canonical', () => {
  const rows = below('## Canonical JSON').match(/^\| .*n.* \| .* \| (`.+`) \|$|^\| else .* \| (`.+`) \|$/gm) ?? [];
  const examples = rows.flatMap(
    (row) =>
      row
        .split('|')
        .at(-2)
        ?.match(/[^\s`]+/g) ?? [],
  );
  expect(examples).toHaveLength(10);
  for (const example of examples) expect(canonicalText(Number(example))).toBe(example);
  expect(canonicalText(2 ** -1017)).toBe('7.120236347223045e-307');
  expect(Number('7.120236347223044e-307')).not.toBe(2 ** -1017);
});

test('links and trees are digested as described', () => {
  const [before, event, state] = ['1', '2', '3'].map((digit) => `sha256:${digit.repeat(64)}` as Digest) as [
    Digest,
    Digest,
    Digest,
  ];
  const tags = [...text.matchAll(/H\(\["(refold\/[a-z-]+\/1)"/g)].map(([, tag = '']) => tag);
  const [chain, , leaf, tree, node] = tags;
  expect(nextChain(before, [event, event], state)).toBe(digest([chain, before, [event, event], state]));
  const leaves = ['a', 'b', 'c'].map((id, version) => ({
    session_id: brand<'SessionId'>(id),
    version: version as never,
    chain: before,
  }));
  const rootOf = (count: number) => checkpointHead(leaves.slice(0, count), 0).root;
  const [a, b, c] = leaves.map(({ session_id, version }) => digest([leaf, session_id, version as Json, before]));
  expect([rootOf(0), rootOf(1), rootOf(3)]).toEqual([digest([tree]), a, digest([node, digest([node, a, b]), c])]);
  expect(new Set(tags)).toEqual(new Set([chain, leaf, tree, node]));
  expect(CheckpointHead.is({ ...checkpointHead([], 0), purpose: /"(refold\/checkpoint\/\d)"/.exec(text)?.[1] })).toBe(
    true,
  );
});

test('the fields of the vectors are listed', async () => {
  const { vectors } = JSON.parse(await readFile(new URL('../vectors/vectors.json', import.meta.url), 'utf8')) as {
    readonly vectors: readonly object[];
  };
  expect(cells('## Test vectors')).toEqual([...new Set(vectors.flatMap((vector) => Object.keys(vector)))].sort());
});
