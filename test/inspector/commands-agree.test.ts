// What if, compare and the tree of the state say what `refold whatif`, `refold diff` and `refold replay --at` say.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Json, JsonObject } from '../../schemas/json.ts';
import { jsonLines, refold } from '../support/e2e/refold.ts';
import { type Asking, newAsking } from '../support/inspector.ts';

const pathOf = (name: string): string =>
  new URL(`../../replay-fixtures/${name}/session.jsonl`, import.meta.url).pathname;

async function openedIn(asking: Asking, name: string): Promise<number> {
  const text = await readFile(pathOf(name), 'utf8');
  const { source } = await asking.ask('open', { kind: 'file', name, file: new Blob([text]) });
  return source;
}

const eventsIn = (of: unknown): number => (of as { readonly events: number }).events;

test.each(['confirmations', 'demo', 'every-part'])('what if, of %s', async (name) => {
  const asking = newAsking();
  const source = await openedIn(asking, name);
  for (const policy of ['careful', 'allow_all', 'read_only']) {
    const [report] = jsonLines(
      (await refold(['whatif', pathOf(name), '--policy', policy, '--json', '--max', '500'])).stdout,
    );
    const summary = await asking.ask('whatIf', { source, policy });
    const { turns, calls, rejections, approvals, plans, offers, faults, unjudged } = report as Record<string, number>;
    expect(summary).toMatchObject({ turns, calls, rejections, approvals, plans, offers, faults, unjudged });
    const { text } = await asking.ask('whatIfExport', { source });
    expect(jsonLines(text).slice(0, -1)).toEqual(report?.['at']);
    const window = await asking.ask('whatIfTurns', { source, from: 0, limit: 500 });
    expect(window.turns.map(({ position }) => position)).toEqual(
      ((report?.['at'] ?? []) as readonly { position: number }[]).map(({ position }) => position),
    );
    expect(window.total).toBe(summary.changed);
  }
});

test('an alternative that cannot be read is refused, and says where', async () => {
  const asking = newAsking();
  const source = await openedIn(asking, 'demo');
  expect(await asking.refusal('whatIf', { source })).toMatchObject({ code: 'invalid_shape' });
  expect(await asking.refusal('whatIf', { source, policy: '{"modes":{}}' })).toMatchObject({ code: 'invalid_shape' });
  expect(await asking.refusal('whatIf', { source, registry: '[{"tool_name":"x"}]' })).toMatchObject({
    code: 'invalid_shape',
  });
  expect(await asking.refusal('whatIfTurns', { source, from: 0, limit: 1 })).toMatchObject({ code: 'cannot' });
});

test.each([
  ['demo', 'demo'],
  ['demo', 'confirmations'],
  ['retries', 'repeated-call'],
  ['forked', 'demo'],
])('compare, of %s and %s', async (one, other) => {
  const asking = newAsking();
  const [a, b] = [await openedIn(asking, one), await openedIn(asking, other)];
  const [report] = jsonLines((await refold(['diff', pathOf(one), pathOf(other), '--json', '--max', '500'])).stdout);
  const found = await asking.ask('compare', { a, b, strict: false });
  const pathsIn = (diff: Json | undefined): readonly string[] =>
    ((diff as JsonObject | null)?.['differences'] as readonly { path: string }[] | undefined)?.map(
      ({ path }) => path,
    ) ?? [];
  expect({ same: found.same, position: found.first?.position ?? null }).toEqual({
    same: report?.['same'],
    position: (report?.['first'] as { position: number } | null)?.position ?? null,
  });
  expect(found.state_at_end.differences.map(({ path }) => path)).toEqual(pathsIn(report?.['state_at_end'] as Json));
  expect(found.events).toEqual({
    a: eventsIn(report?.['a']),
    b: eventsIn(report?.['b']),
  });
});

test('the state is a tree: each part with its digest, found by path, and compared with another position', async () => {
  const asking = newAsking();
  const source = await openedIn(asking, 'demo');
  const [replayed] = jsonLines((await refold(['replay', pathOf('demo'), '--at', '9', '--json'])).stdout);
  const { node } = await asking.ask('state', { source, at: 9, path: '', from: 0, limit: 3 });
  expect(node).toMatchObject({ type: 'object', digest: replayed?.['state_digest'] });
  const run = await asking.ask('state', { source, at: 9, path: '/run', from: 0, limit: 100 });
  expect(run.node.size).toBe(run.children.length);
  expect(run.children.find(({ name }) => name === 'run_id')).toMatchObject({ text: { text: '"run-1"' }, digest: null });
  expect(await asking.refusal('state', { source, at: 9, path: '/nowhere', from: 0, limit: 1 })).toMatchObject({
    code: 'not_found',
  });
  expect(await asking.refusal('state', { source, at: 99_999, path: '', from: 0, limit: 1 })).toMatchObject({
    code: 'not_folded',
  });
  const { nodes } = await asking.ask('findPath', { source, at: 9, text: 'host_session_st', limit: 10 });
  expect(nodes.map(({ path }) => path)).toContain('/tool_runtime_context/host_session_status');
  const { differences } = await asking.ask('stateDiff', { source, a: 9, b: 10 });
  expect(differences.map(({ path }) => path)).toContain('/version');
});

test('the bar seeks the marks of its kinds, forwards and back', async () => {
  const asking = newAsking();
  const source = await openedIn(asking, 'rejected-calls');
  await asking.ask('alternatives', { source });
  const { now } = await asking.ask('session', { source });
  const events = now?.at ?? 0;
  const { rows } = await asking.ask('rows', { source, from: 0, limit: 500 });
  const marked = rows.filter(({ marks }) => marks.includes('refusal')).map(({ position }) => position);
  expect(marked.length).toBeGreaterThan(0);
  const found: number[] = [];
  for (let from: number | null = -1; from !== null;) {
    const next: { readonly position: number | null } = await asking.ask('seekMark', {
      source,
      from,
      direction: 'next',
      kinds: ['refusal'],
    });
    if (next.position !== null) found.push(next.position);
    from = next.position;
  }
  expect(found).toEqual(marked);
  const previous = { source, from: events, direction: 'previous', kinds: ['refusal'] } as const;
  expect((await asking.ask('seekMark', previous)).position).toBe(marked.at(-1));
  const { totals, parts } = await asking.ask('marks', { source, parts: 7 });
  expect(totals.refusal).toBe(marked.length);
  expect(parts.reduce((sum, part) => sum + (part.refusal ?? 0), 0)).toBe(marked.length);
});
