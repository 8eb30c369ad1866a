// The examples of docs/bridge.md work: the names they import are exported, and the session they record replays.
import { expect, test } from 'vitest';
import * as bridge from '../../bridge/index.ts';
import * as schemas from '../../schemas/index.ts';
import * as client from '../../src/client/index.ts';
import * as core from '../../src/core/index.ts';
import { readDocument, readExample } from '../support/documents.ts';
import { commitsIn } from '../audit/records.ts';
import { newDisk } from '../support/engine/disk.ts';
import { SESSION, newWorld } from '../support/engine/world.ts';

const text = await readDocument('docs/bridge.md');

test('every name that the examples import is exported', () => {
  const packages: Readonly<Record<string, object>> = { bridge, client, core };
  const imports = [...text.matchAll(/import \{ (.+) \} from 'refold\/(\w+)';/g)];
  for (const [, names = '', from = ''] of imports) {
    for (const name of names.split(', ')) expect(Object.keys(packages[from] ?? {})).toContain(name);
  }
  expect(imports).toHaveLength(4);
  for (const name of ['renderTranscript', 'hostExecutor', 'openHost']) expect(Object.keys(bridge)).toContain(name);
});

test('the bounds that the page names are those of schemas/limits.ts', () => {
  const { INLINE_CHARS_MAX, EXCERPT_CHARS } = schemas.limits;
  expect(text).toContain(`at most ${INLINE_CHARS_MAX.toLocaleString('en')} UTF-16 units go inline`);
  expect(text).toContain(`at most ${EXCERPT_CHARS} units`);
});

test('the table of routes is that of the server', () => {
  const served = Object.values(schemas.ROUTES).map(
    ({ method, path, scopes }) => `${method} ${path}: ${scopes.join(', ')}`,
  );
  const rows = text.matchAll(/^\| `((?:DELETE|GET|POST) [^`]+)` \| ([a-z, ]+) \|/gm);
  const listed = Array.from(rows, ([, route = '', scopes = '']) => `${route}: ${scopes}`);
  expect([...listed].sort()).toEqual([...served].sort());
});

test('the session that the example records replays', async () => {
  const { talk, engine } = await newWorld(newDisk());
  await talk.create();
  const page = Array.from({ length: 250 }, () => ({ kind: 'SessionConfigured', config: {} }) as const);
  // More than one page of records.
  for (let pages = 0; pages < 5; pages += 1) await talk.submit(page);
  const body = (await readExample('record')).replace(/^import .*$/m, '');
  const code = `export async function record(client, session, replay) {${body}; return { records, divergence }; }`;
  const { record } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    readonly record: (...given: readonly unknown[]) => Promise<{ readonly records: readonly schemas.StreamRecord[] }>;
  };
  const made = await record(engine.client, SESSION, core.replay);
  expect(made).toMatchObject({ divergence: null });
  expect(commitsIn(made.records).flatMap(({ events }) => events)).toHaveLength(1_250);
  await engine.close();
});
