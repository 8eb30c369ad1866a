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
async function waitingCall(call_id = 'a'): Promise<SessionState> {
  const { talk, engine } = await newWorld();
  await talk.create(packageOf([tool('t', { permission_policy: 'always_ask' })]));
  const state = await talk.calls([call_id, 't']);
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

describe('a line that comes after a question was withdrawn', () => {
  /** A person who sees the question about `b` in place of the one about `a`, and whose line arrives `later`. */
  async function typing(later: number) {
    const given: string[] = [];
    let over: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      over = resolve;
    });
    const client = {
      submit:
        (_id: unknown, { events: [event] }: { readonly events: readonly Ingress[] }) =>
        () => {
          given.push(event?.kind === 'user.tool_confirmation' ? `${event.call_id} ${event.result}` : '');
          over();
          return Promise.resolve(right({ version: 1, events: [] }));
        },
    } as unknown as EngineClient;
    const [first, second] = [await waitingCall('a'), await waitingCall('b')];
    let at_ms = 1_000;
    const [input, output] = [new PassThrough(), new PassThrough()];
    const lines: string[] = [];
    let shown = 0;
    output.on('data', (text) => {
      if (!String(text).includes('deny')) return;
      shown += 1;
      if (shown === 1) asker.update(second);
      if (shown === 2) at_ms += later;
      if (shown === 2) input.write('y\n');
      if (shown === 3) over();
    });
    const print = (line: string): void => void lines.push(line);
    const terminal = { input, output };
    const asker = newTerminalAsker({ client, by: 'ada', readFile: () => null, print, now: () => at_ms, terminal });
    asker.update(first);
    await ended;
    asker.close();
    return { given, printed: lines.join('\n') };
  }

  test('at once is not taken for the next one, which is asked again', async () => {
    const { given, printed } = await typing(499);
    expect(given).toEqual([]);
    expect(printed).toContain('not taken');
  });

  test('when it could be read is an answer', async () => {
    const { given, printed } = await typing(500);
    expect(given).toEqual(['b allow']);
    expect(printed).not.toContain('not taken');
  });
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
