// What docs/bridge.md says to write can be written: its names are there, and what it records replays.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import * as bridge from '../../bridge/index.ts';
import * as schemas from '../../schemas/index.ts';
import * as client from '../../src/client/index.ts';
import * as core from '../../src/core/index.ts';
import { newDisk } from '../support/engine/disk.ts';
import { SESSION, newWorld } from '../support/engine/world.ts';

const text = await readFile(new URL('../../docs/bridge.md', import.meta.url), 'utf8');

const example = (name: string): string =>
  new RegExp(`<!-- example: ${name} -->\\n\`\`\`js\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? 'throw new Error("gone")';

test('every name that its examples import is exported there', () => {
  const packages: Readonly<Record<string, object>> = { bridge, client, core };
  const imports = [...text.matchAll(/import \{ (.+) \} from 'refold\/(\w+)';/g)];
  for (const [, names = '', from = ''] of imports) {
    for (const name of names.split(', ')) expect(Object.keys(packages[from] ?? {})).toContain(name);
  }
  expect(imports).toHaveLength(3);
  for (const name of ['renderTranscript', 'hostExecutor', 'openHost']) expect(Object.keys(bridge)).toContain(name);
});

test('the bounds that it names are those of the limits', () => {
  const { INLINE_CHARS_MAX, EXCERPT_CHARS } = schemas.limits;
  expect(text).toContain(`at most ${INLINE_CHARS_MAX.toLocaleString('en')} UTF-16 units go inline`);
  expect(text).toContain(`at most ${EXCERPT_CHARS} units`);
});

test('a fixture that is recorded as it says replays', async () => {
  const { talk, engine } = await newWorld(newDisk());
  await talk.create();
  const page = Array.from({ length: 250 }, () => ({ kind: 'SessionConfigured', config: {} }) as const);
  // More than one page of records.
  for (let pages = 0; pages < 5; pages += 1) await talk.submit(page);
  const body = example('record').replace(/^import .*$/m, '');
  const code = `export async function record(client, session, replay) {${body}; return { records, divergence }; }`;
  const { record } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    readonly record: (...given: readonly unknown[]) => Promise<{ readonly records: readonly object[] }>;
  };
  const made = await record(engine.client, SESSION, core.replay);
  expect(made).toMatchObject({ divergence: null });
  expect(made.records).toHaveLength(1_251);
  await engine.close();
});
