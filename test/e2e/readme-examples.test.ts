// The code of the README and of docs/ runs unchanged: a reader who copies it has a bridge, a tool and a fold.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRight } from 'fp-ts/lib/Either.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readExample } from '../support/documents.ts';
import type { ToolPackage } from '../../schemas/tool-set.ts';
import { type Engine, fixedTokens, openMemoryBlobs, openMemoryJournal, serve, startEngine } from '../../src/index.ts';
import { must } from '../../src/client/must.ts';
import { ROOT, eventsUntil } from '../support/e2e/refold.ts';

// Inside the package, so that `refold/client` is the package itself.
const FOLDER = join(ROOT, 'dist/readme-examples');
const TOKEN = 'the-token-of-this-test';

const MINE = `
export const askModel = async ({ turn, transcript }) => turn === 1
  ? { content: { text: 'Let me see.' }, calls: [{ call_id: 'a', tool_name: 'look_up_price', arguments: { article: 'pen' } },
                                               { call_id: 'b', tool_name: 'look_up_price', arguments_text: '{"article":"book"}' },
                                               { call_id: 'c', tool_name: 'look_up_price', arguments: {} }] }
  : { content: { text: transcript.open.filter((e) => e.role === 'tool').map((e) => e.content.text).join(' | ') }, calls: [] };
export const runTool = async (tool, args) => ({ success: true, text: tool + ' ' + args.article });
`;

let engine: Engine;
let stop: () => Promise<void>;
let bridge: ChildProcess | undefined;
let toolPackage: ToolPackage;

beforeAll(async () => {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'mine.mjs'), MINE);
  await writeFile(join(FOLDER, 'bridge.mjs'), await readExample('bridge'));
  await writeFile(join(FOLDER, 'tool.mjs'), await readExample('tool'));
  ({ tool_package: toolPackage } = (await import(join(FOLDER, 'tool.mjs'))) as { tool_package: ToolPackage });
  engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const serving = await serve(engine.client, { tokens: fixedTokens({ bridge: TOKEN }), port: 0 });
  stop = () => serving.close();
  bridge = spawn(process.execPath, [join(FOLDER, 'bridge.mjs')], {
    env: { ...process.env, REFOLD_URL: serving.url, REFOLD_TOKEN: TOKEN },
    stdio: 'inherit',
  });
});

afterAll(async () => {
  bridge?.kill('SIGKILL');
  await stop();
  await engine.close();
  await rm(FOLDER, { recursive: true });
});

test('the example of a bridge has at most 32 lines', async () => {
  const lines = (await readExample('bridge')).split('\n').filter((line) => line.trim() !== '');
  expect(lines.length).toBeLessThanOrEqual(32);
});

test('the example of a bridge runs a session with the example of a tool to its end', async () => {
  const { session_id: id } = await must(engine.client.createSession({ tool_package: toolPackage }));
  const asked = await engine.client.submit(id, { events: [{ kind: 'RunRequested', input: { text: 'prices?' } }] })();
  expect(isRight(asked)).toBe(true);
  await eventsUntil(engine.client, id, ({ event }) => event.ends !== undefined);
  const { state } = await must(engine.client.session(id));
  const [record] = state.run_history;
  expect(record?.ending.outcome).toBe('completed');
  expect(record?.ending.output).toEqual({
    text: expect.stringMatching(
      /^shop\.price\.look_up pen \| shop\.price\.look_up book \| error: tool_invalid_args: .*article/,
    ),
  });
});

test('the example of a fold prints what its comments say', async () => {
  await writeFile(join(FOLDER, 'fold.mjs'), await readExample('fold'));
  const child = spawn(process.execPath, [join(FOLDER, 'fold.mjs')], { env: { ...process.env, NO_COLOR: '1' } });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await once(child, 'close');
  expect(printed).toContain("{ after: { a: [], b: [ 'a' ] }, groups: [ [ 'a' ], [ 'b' ] ] }");
  expect(printed).toContain("tool_name: 'edit_file'");
});
