// `refold toolsets`: what a person sees of the tools from outside, approves and removes.
import { expect, test } from 'vitest';
import { type Ingress, type ToolsetTool, brand } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { storeContent } from '../../src/client/store-content.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { freshDirectory, jsonLines, refold } from '../support/e2e/refold.ts';

const SESSION = brand<'SessionId'>('s-1');
const OWNER = brand<'OwnerId'>('config-1');

const said = (id: string, definition: object): ToolsetTool => ({
  ...toolsetTool(id, 0),
  definition: { text: JSON.stringify(definition) },
});

const COMMENT = said('skill.comment', { description: 'Writes.', name: 'comment' });
/** Its description hides a character of no width, one that turns the direction of text, and a control character. */
const HIDDEN = said('skill.comment', { description: 'Writes.\u200B\u202E\u0007 And sends.', name: 'comment' });

/** Runs commands on a session after these events. */
async function after(
  events: readonly Ingress[],
  use: (run: (...args: readonly string[]) => ReturnType<typeof refold>) => Promise<void>,
  prepare: (client: EngineClient) => Promise<readonly Ingress[]> = async () => await Promise.resolve([]),
): Promise<void> {
  const dataDir = await freshDirectory();
  const engine = await must(openEngine({ dataDir }));
  try {
    await must(engine.client.createSession({ session_id: SESSION }));
    for (const event of [...events, ...(await prepare(engine.client))])
      await must(engine.client.submit(SESSION, { events: [event] }));
  } finally {
    await engine.close();
  }
  await use((...args) => refold([...args, '--data-dir', dataDir]));
}

const set = (tools: readonly ToolsetTool[], rest: { readonly trust?: 'first' } = {}): Ingress => ({
  kind: 'ToolsetSet',
  toolset: 'skill',
  owner: OWNER,
  tools,
  ...rest,
});

test('lists who sets each toolset, and what of it waits', () =>
  after([set([COMMENT], { trust: 'first' }), set([HIDDEN, said('skill.new', {})])], async (run) => {
    const listed = await run('toolsets', SESSION);
    expect(listed.stdout).toContain('skill  set by config-1: 2 tools, 0 approved, 2 wait for approval\n');
    expect(listed.stdout).toContain('changed  skill.comment skill__comment\n');
    expect(listed.stdout).toContain('new      skill.new skill__new\n');
    expect((await run('toolsets', 'list', SESSION)).stdout).toBe(listed.stdout);
    const [row] = jsonLines((await run('toolsets', SESSION, '--json')).stdout);
    expect(row).toMatchObject({ toolset: 'skill', owner: 'config-1', tools: 2, approved: 0 });
  }));

test('lists nothing where there is nothing', () =>
  after([], async (run) => {
    expect((await run('toolsets', SESSION)).stdout).toBe('s-1 has no toolsets\n');
    expect(await run('toolsets', 'approve', SESSION, 'skill')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('s-1 has no toolset "skill". The session has: none'),
    });
  }));

test('shows what has changed before it approves, invisible characters too', () =>
  after([set([COMMENT], { trust: 'first' }), set([HIDDEN])], async (run) => {
    const unasked = await run('toolsets', 'approve', SESSION, 'skill');
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('no terminal to ask at') });
    expect(unasked.stdout).toContain('» skill.comment (+1 -1)\n');
    expect(unasked.stdout).toContain('-  "description": "Writes.",\n');
    expect(unasked.stdout).toContain('+  "description": "Writes.<U+200B><U+202E>\\u0007 And sends.",\n');
    expect((await run('toolsets', SESSION)).stdout).toContain('0 approved');
    const approved = await run('toolsets', 'approve', SESSION, 'skill', '--yes');
    expect(approved).toMatchObject({ code: 0, stdout: expect.stringContaining('approved: skill.comment\n') });
    expect((await run('toolsets', SESSION)).stdout).toContain('1 tools, 1 approved\n');
    expect((await run('toolsets', 'approve', SESSION, 'skill')).stdout).toBe('no tool of skill waits for approval\n');
    expect((await run('show', SESSION)).stdout).toContain('in_toolset; of skill, set by config-1');
    expect((await run('explain', SESSION, '--tool', 'skill.comment')).stdout).toContain(
      'from the toolset skill, set by config-1\n',
    );
  }));

test('approves the named tools alone, and refuses others', () =>
  after([set([said('skill.a', {}), said('skill.b', {})])], async (run) => {
    const approved = await run('toolsets', 'approve', SESSION, 'skill', '--tool', 'skill.a', '--yes');
    expect(approved.stdout).toContain('» skill.a: not approved before\n');
    expect(approved.stdout).not.toContain('skill.b');
    expect((await run('toolsets', 'approve', SESSION, 'skill', '--tool', 'skill.a', '--yes')).stderr).toContain(
      '"skill.a" is approved as it is. Of skill wait for approval: skill.b',
    );
    expect((await run('toolsets', 'approve', SESSION, 'skill', '--tool', 'x', '--yes')).stderr).toContain(
      '"x" is no tool of the toolset',
    );
  }));

test('shows a definition that is in a blob', () =>
  after(
    [],
    async (run) => {
      const { stdout } = await run('toolsets', 'approve', SESSION, 'skill', '--yes');
      expect(stdout).toContain('+  "also": "');
      expect(stdout).toContain('approved: skill.long\n');
    },
    async (client) => {
      const text = JSON.stringify({ also: 'x'.repeat(9_000) });
      const definition = await must(storeContent(client, text));
      return [set([{ ...toolsetTool('skill.long', 0), definition }])];
    },
  ));

test('removes a toolset with its owner', () =>
  after([set([COMMENT], { trust: 'first' })], async (run) => {
    expect(await run('toolsets', 'remove', SESSION, 'skill')).toMatchObject({ code: 2 });
    expect((await run('toolsets', 'remove', SESSION, 'skill', '--yes')).stdout).toContain('removed: skill\n');
    expect((await run('toolsets', SESSION)).stdout).toBe('s-1 has no toolsets\n');
  }));
