// An answer to a waiting call that the engine does not take is told and given again: the call still waits for it.
import { PassThrough } from 'node:stream';
import { left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { Ingress } from '../../schemas/event.ts';
import { reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { newTerminalAsker } from '../../src/cli/people/terminal-asker.ts';
import { newAllowingAsker } from '../../src/cli/people/unattended-asker.ts';
import { newOutput } from '../../src/cli/output.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { newWorld, packageOf } from '../support/engine/world.ts';
import { tool } from '../support/tools.ts';

const FULL = reject('storage_full', '', 'the disk is full');

/** A session with one call that waits for a person. */
async function waitingCall(): Promise<SessionState> {
  const { talk, engine } = await newWorld();
  await talk.create(packageOf([tool('t', { permission_policy: 'always_ask' })]));
  const state = await talk.calls(['a', 't']);
  await engine.close();
  return state;
}

/** Refuses the first answer; `taken` resolves with the second. */
function refusingOnce() {
  const given: Ingress[] = [];
  let take: (event: Ingress) => void = () => undefined;
  const taken = new Promise<Ingress>((resolve) => {
    take = resolve;
  });
  const client = {
    submit:
      (_id: unknown, { events }: { readonly events: readonly Ingress[] }) =>
      () => {
        given.push(...events);
        if (given.length === 1) return Promise.resolve(left(FULL));
        take(events[0] as Ingress);
        return Promise.resolve(right({ version: 1, events: [] }));
      },
  } as unknown as EngineClient;
  return { client, taken };
}

/** A person at a terminal who types `typed` at each question; the asker, and what it submitted. */
async function answering(typed: readonly string[]) {
  const given: Ingress[] = [];
  const client = {
    submit:
      (_id: unknown, { events }: { readonly events: readonly Ingress[] }) =>
      () => {
        given.push(...events);
        return Promise.resolve(right({ version: 1, events: [] }));
      },
  } as unknown as EngineClient;
  const [input, output] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: true, columns: 200 })];
  const lines = [...typed];
  let again: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    again = resolve;
  });
  output.on('data', (shown) => {
    if (!String(shown).includes('deny')) return;
    const next = lines.shift();
    if (next === undefined) again();
    else input.write(next);
  });
  const asker = newTerminalAsker({
    client,
    by: 'ada',
    readFile: () => null,
    print: () => undefined,
    terminal: { input, output },
  });
  return { asker, given, asked };
}

describe('a question at the terminal', () => {
  test.each(['stop', 'skip', 'show me', 'abort', 'always ask', 'yikes, no', 'a', 'not sure'])(
    'takes %j for no answer, and asks again',
    async (typed) => {
      const { asker, given, asked } = await answering([`${typed}\n`]);
      asker.update(await waitingCall());
      await asked;
      expect(given).toEqual([]);
      asker.close();
    },
  );
});

describe('an answer that is refused', () => {
  test('of a person is asked for again, with the reason', async () => {
    const { client, taken } = refusingOnce();
    const [input, output] = [new PassThrough(), new PassThrough()];
    // The person answers each question.
    output.on('data', (shown) => String(shown).includes('deny') && input.write('y\n'));
    const lines: string[] = [];
    const asker = newTerminalAsker({
      client,
      by: 'ada',
      readFile: () => null,
      print: (line) => lines.push(line),
      terminal: { input, output },
    });
    asker.update(await waitingCall());
    expect(await taken).toMatchObject({ kind: 'user.tool_confirmation', result: 'allow' });
    expect(lines.join('\n')).toContain('the disk is full');
    expect(lines.join('\n')).not.toContain('no longer waits');
    asker.close();
  });

  test('of --yes is given again, and told as an answer only when it is taken', async () => {
    const { client, taken } = refusingOnce();
    const stdout = new PassThrough();
    const asker = newAllowingAsker(client, 'a test', newOutput({ stdout, stderr: new PassThrough() }, true), 1);
    asker.update(await waitingCall());
    expect(await taken).toMatchObject({ kind: 'user.tool_confirmation', result: 'allow' });
    await Promise.resolve();
    asker.close();
    expect(String(stdout.read()).match(/"event":"allowed"/g)).toHaveLength(1);
  });
});
