// Definitions that wait for approval, as the page shows and approves them: the lines of `refold toolsets approve`, and nothing that
// was not shown.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ToolsetTool } from '../../schemas/index.ts';
import { must } from '../../src/client/must.ts';
import { storeContent } from '../../src/client/store-content.ts';
import { definitionLines } from '../../src/shown/definition-lines.ts';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { type Served, TOKEN, serveClient } from '../support/engine/serving.ts';
import { SESSION, type World, newWorld } from '../support/engine/world.ts';
import { type Asking, newAsking } from '../support/inspector.ts';

let world: World;
let served: Served;
let page: Asking;
let source: number;

beforeEach(async () => {
  world = await newWorld();
  served = await serveClient(world.engine.client);
  await world.talk.create();
  page = newAsking();
  await page.ask('connect', { url: served.url, token: TOKEN, scope: 'operator', by: 'ada' });
});
afterEach(async () => {
  await page.close();
  await served.close();
  await world.engine.close();
});

const said = (id: string, text: string): ToolsetTool => ({ ...toolsetTool(id, 0), definition: { text } });
const set = (tools: readonly ToolsetTool[]) =>
  world.talk.submit([{ kind: 'ToolsetSet', toolset: 'skill', owner: 'config-1', tools }]);

/** What waits after all events. */
async function waiting() {
  source = (await page.ask('open', { kind: 'engine', session_id: SESSION })).source;
  await page.ask('alternatives', { source });
  return await page.ask('toolsets', { source });
}

const approve = (tools: Readonly<Record<string, string>>) =>
  page.ask('act', { session_id: SESSION, kind: 'approve_toolset', toolset: 'skill', tools: tools as never });

const BEFORE = '{"description":"Writes.","name":"comment"}';
const AFTER = '{"description":"Writes.\u202E And sends.","name":"comment"}';

test('are shown as the command shows them, and approved by their digests', async () => {
  await set([said('skill.comment', BEFORE)]);
  const [fresh] = await waiting();
  expect(fresh?.tools[0]?.lines?.[0]).toEqual({ sign: '»', text: 'skill.comment: not approved before' });
  const { digest } = fresh?.tools[0] ?? expect.fail('nothing waits');
  expect(await approve({ 'skill.comment': digest })).toMatchObject({ taken: true });
  await set([said('skill.comment', AFTER)]);
  const [changed] = await waiting();
  const [tool] = changed?.tools ?? [];
  expect(changed).toMatchObject({ toolset: 'skill', owner: 'config-1', rest: 0 });
  const lines = definitionLines({
    ...(tool as never as { tool_id: never }),
    digest,
    approved: digest,
    text: AFTER,
    before: BEFORE,
  });
  const shown = (tool?.lines ?? []).map(({ sign, text }) =>
    sign === '@' ? `@@ ${text} @@` : sign === '»' ? `» ${text}` : sign + text,
  );
  expect(shown).toEqual(lines.map((line) => line.slice(2)));
  expect(await approve({ 'skill.comment': digest })).toMatchObject({
    taken: false,
    refused: { code: 'definition_mismatch' },
  });
  expect(await approve({ 'skill.comment': tool?.digest ?? '' })).toMatchObject({ taken: true });
  expect(await waiting()).toEqual([]);
});

test('are read from blobs, and are no lines where they cannot be', async () => {
  const text = JSON.stringify({ description: 'x'.repeat(10_000) });
  const stored = await must(storeContent(served.client, text));
  await set([{ ...toolsetTool('skill.long', 0), definition: stored }]);
  const [long] = await waiting();
  expect(long?.tools[0]?.lines?.some(({ text: line }) => line.includes('x'.repeat(10_000)))).toBe(true);
  const exported = (await must(served.client.records(SESSION))).map((record) => JSON.stringify(record)).join('\n');
  const file = await page.ask('open', { kind: 'embedded', name: 'file', text: `${exported}\n` });
  await page.ask('alternatives', { source: file.source });
  expect(await page.ask('toolsets', { source: file.source })).toMatchObject([{ tools: [{ lines: null }] }]);
});

test('come in parts, so that what is approved at once can be seen', async () => {
  await set(
    Array.from({ length: 25 }, (_, index) => said(`skill.t${String(index).padStart(2, '0')}`, `{"n":${index}}`)),
  );
  const [many] = await waiting();
  expect(many?.tools).toHaveLength(20);
  expect(many?.rest).toBe(5);
  await approve(Object.fromEntries((many?.tools ?? []).map(({ tool_id, digest }) => [tool_id, digest])));
  expect((await waiting())[0]).toMatchObject({ rest: 0, tools: { length: 5 } });
});
