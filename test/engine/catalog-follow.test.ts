// The catalog of an engine in its sessions: when each gets it, what a change costs, and what one that is refused leaves.
import { expect, onTestFinished, test } from 'vitest';
import { digestJson } from '../../schemas/canonical.ts';
import { defineTool } from '../../schemas/define-tool.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/index.ts';
import type { CatalogTools } from '../../src/engine/catalog-follow.ts';
import type { EngineFault } from '../../src/engine/faults.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';

/** A catalog of tools that a person fulfils; `long` makes the definitions longer than events may hold. */
function catalogOf(names: readonly string[], said = 'one', long = false): CatalogTools {
  const tools = names.map((name) => ({
    definition: JSON.stringify({ name, said, ...(long ? { text: 'x'.repeat(9_000) } : {}) }),
    spec: defineTool({
      tool_id: `catalog.tool.${name}`,
      tool_name: name,
      description: said,
      input_schema: { type: 'object' },
      executor: { kind: 'custom' },
    }),
  }));
  return { tools, digest: digestJson(tools.map(({ definition }) => definition)) };
}

async function engineWith(catalog?: CatalogTools) {
  const faults: EngineFault[] = [];
  const journal = openMemoryJournal();
  const engine = await must(
    startEngine({
      journal,
      blobs: openMemoryBlobs(),
      tellFault: (fault) => void faults.push(fault),
      ...(catalog === undefined ? {} : { catalog }),
    }),
  );
  onTestFinished(() => engine.close());
  const { client } = engine;
  const kindsOf = async (id: SessionId): Promise<readonly string[]> =>
    (await must(client.records(id))).flatMap((record) =>
      record.kind === 'commit' ? record.events.map(({ kind }) => kind as string) : [],
    );
  const offered = async (id: SessionId): Promise<readonly string[]> =>
    (await must(client.session(id))).state.effective_tools.ordered_tools
      .map(({ tool_id }): string => tool_id)
      .filter((tool) => tool.startsWith('catalog.'));
  const steer = (id: SessionId, text: string) =>
    must(client.submit(id, { events: [{ kind: 'FollowUpQueued', follow_up: { input: { text } } }] }));
  return { engine, client, faults, kindsOf, offered, steer };
}

const configured = { kind: 'SessionConfigured', config: { turns_max: 5 } } as const;
const started = { kind: 'RunRequested', input: { text: 'go' } } as const;

test('a new session has the catalog before anything else, and its answer says so', async () => {
  const { client, kindsOf, offered } = await engineWith(catalogOf(['one', 'two'], 'said', true));
  const { session_id, version } = await must(client.createSession());
  expect(version).toBe(1);
  expect(await kindsOf(session_id)).toEqual(['ToolsetSet']);
  expect(await offered(session_id)).toEqual(['catalog.tool.one', 'catalog.tool.two']);
  expect((await must(client.session(session_id))).state.toolsets?.['catalog']?.owner).toBe('catalog');
});

test('without a catalog, a session has none, and follows none that comes later', async () => {
  const { engine, client, kindsOf } = await engineWith();
  const { session_id } = await must(client.createSession());
  await engine.setCatalog(catalogOf(['one']));
  await must(client.submit(session_id, { events: [configured] }));
  expect(await kindsOf(session_id)).toEqual(['SessionConfigured']);
});

test('a session follows an empty catalog, too', async () => {
  const { engine, client, offered } = await engineWith(catalogOf([]));
  const { session_id } = await must(client.createSession());
  await engine.setCatalog(catalogOf(['one']));
  await must(client.submit(session_id, { events: [configured] }));
  expect(await offered(session_id)).toEqual(['catalog.tool.one']);
});

test('another catalog comes before the next request, and a read writes nothing', async () => {
  const { engine, client, kindsOf, offered } = await engineWith(catalogOf(['one', 'two']));
  const { session_id } = await must(client.createSession());
  await engine.setCatalog(catalogOf(['one']));
  expect(await offered(session_id)).toEqual(['catalog.tool.one', 'catalog.tool.two']);
  await must(client.submit(session_id, { events: [started] }));
  expect(await kindsOf(session_id)).toEqual(['ToolsetSet', 'ToolsetSet', 'RunRequested']);
  const { run } = (await must(client.session(session_id))).state;
  const tools = run?.offer?.ordered_tools.map(({ tool_name }): string => tool_name) ?? [];
  expect(tools).toContain('one');
  expect(tools).not.toContain('two');
});

test('a session that owes a generate has the new catalog when the change is made', async () => {
  const { engine, client, kindsOf } = await engineWith(catalogOf(['one', 'two']));
  const { session_id } = await must(client.createSession());
  await must(client.submit(session_id, { events: [started] }));
  await engine.setCatalog(catalogOf(['one']));
  expect(await kindsOf(session_id)).toEqual(['ToolsetSet', 'RunRequested', 'ToolsetSet']);
});

test('what changed or was added is out until an operator approves it', async () => {
  const { engine, client, offered } = await engineWith(catalogOf(['one', 'two']));
  const { session_id } = await must(client.createSession());
  const changed = catalogOf(['two'], 'other').tools;
  const next = {
    tools: [...catalogOf(['one']).tools, ...changed, ...catalogOf(['three']).tools],
    digest: digestJson('next'),
  };
  await engine.setCatalog(next);
  await must(client.submit(session_id, { events: [configured] }));
  expect(await offered(session_id)).toEqual(['catalog.tool.one']);
  const { toolsets } = (await must(client.session(session_id))).state;
  const tools = toolsets?.['catalog']?.tools ?? {};
  await must(client.submit(session_id, { events: [{ kind: 'ToolsetApproved', toolset: 'catalog', tools }] }));
  expect(await offered(session_id)).toEqual(['catalog.tool.one', 'catalog.tool.three', 'catalog.tool.two']);
});

test('the same catalog again, many requests and many at once write nothing more', async () => {
  const { engine, client, kindsOf, steer } = await engineWith(catalogOf(['one']));
  const { session_id } = await must(client.createSession());
  await engine.setCatalog(catalogOf(['one']));
  await engine.setCatalog(catalogOf(['one', 'two']));
  await Promise.all(Array.from({ length: 4 }, (_, at) => steer(session_id, `${at}`)));
  await engine.setCatalog(catalogOf(['one', 'two']));
  await steer(session_id, 'last');
  expect((await kindsOf(session_id)).filter((kind) => kind === 'ToolsetSet')).toHaveLength(2);
});

test('a request for a version is for that version', async () => {
  const { engine, client, kindsOf } = await engineWith(catalogOf(['one']));
  const { session_id, version } = await must(client.createSession());
  await engine.setCatalog(catalogOf(['two']));
  await must(client.submit(session_id, { events: [configured], expected_version: version }));
  await must(client.submit(session_id, { events: [configured] }));
  expect((await kindsOf(session_id)).filter((kind) => kind === 'ToolsetSet')).toHaveLength(2);
});

test('a catalog that a session refuses is told once, and the session goes on', async () => {
  const { client, faults, kindsOf } = await engineWith(catalogOf(['shell']));
  const { session_id } = await must(client.createSession({ session_id: brand<'SessionId'>('s') }));
  await must(client.submit(session_id, { events: [configured] }));
  await must(client.submit(session_id, { events: [configured] }));
  expect(faults).toEqual([{ session_id, doing: 'setting the catalog', reason: expect.stringContaining('shell') }]);
  expect(await kindsOf(session_id)).toEqual(['SessionConfigured', 'SessionConfigured']);
});
