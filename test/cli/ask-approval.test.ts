// Before a call is allowed, a person sees all of it: nothing is cut off, and nothing in it can pass for something else.
import { spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import * as fc from 'fast-check';
import { right } from 'fp-ts/lib/Either.js';
import { describe, expect, test, vi } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { PREVIEW_LINES_MAX } from '../../schemas/limits.ts';
import { type ApprovalRequest, askApproval } from '../../src/cli/people/ask-approval.ts';
import { actionLines } from '../../src/cli/people/describe-action.ts';
import { allArguments } from '../../src/cli/preview/preview-call.ts';
import { type RequiredAction, questionDigest } from '../../src/core/status.ts';

const LONG = `git status${' '.repeat(5_000)}; rm -rf src`;

const callOf = (args: JsonObject | undefined, more: object = {}): RequiredAction =>
  ({
    kind: 'agent.tool_use',
    call_id: 'a',
    session_id: 's',
    tool_id: 'host.exec',
    tool_name: 'shell',
    mode: 'local',
    effect_id: 'batch-1/a/confirm',
    arguments_digest: 'sha256:arguments',
    consent: { reasons: ['mode_default'] },
    ...(args === undefined ? {} : { arguments: args }),
    ...more,
  }) as never;

async function confirm(action: RequiredAction, options: Partial<ApprovalRequest> = {}) {
  const lines: string[] = [];
  const output = { json: false, line: (text = '') => lines.push(text) } as never;
  const client = { getBlob: () => () => Promise.resolve(right(new TextEncoder().encode('{"argv":["cat","stored"]}'))) };
  const confirmed = askApproval(action, { client, output, verb: 'approve', ...options });
  return await confirmed.then(
    () => ({ allowed: true, code: null, text: lines.join('\n'), message: '' }),
    (error: { code: string; message: string }) => ({
      allowed: false,
      code: error.code,
      text: lines.join('\n'),
      message: error.message,
    }),
  );
}

describe('allowing a call', () => {
  test('shows the end of a long argument, and asks', async () => {
    const ask = vi.fn<() => Promise<boolean>>(() => Promise.resolve(true));
    const { allowed, text } = await confirm(callOf({ argv: ['sh', '-c', LONG] }), { ask });
    expect(allowed).toBe(true);
    expect(text).toContain('; rm -rf src');
    expect(ask).toHaveBeenCalledOnce();
  });

  test('shows every line, however many there are', async () => {
    const many = Array.from({ length: PREVIEW_LINES_MAX + 50 }, (_, index) => `line ${index}`);
    const { text } = await confirm(callOf({ text: many.join('\n') }), { ask: () => Promise.resolve(true) });
    expect(many.filter((line) => !text.includes(`|   ${line}`))).toEqual([]);
  });

  test('shows arguments that are stored beside the event', async () => {
    const stored = callOf(undefined, { arguments_ref: { ref: 'sha256:blob', bytes: 25, head: '', tail: '' } });
    const { text } = await confirm(stored, { ask: () => Promise.resolve(true) });
    expect(text).toContain('["cat","stored"]');
  });

  test('allows nothing when the answer is not yes', async () => {
    const answered = await confirm(callOf({ path: 'a' }), { ask: () => Promise.resolve(false) });
    expect(answered).toMatchObject({ allowed: false, code: 'not_confirmed' });
  });

  test('says what else is allowed before it asks', async () => {
    const also = 'also every later call of shell';
    const { text } = await confirm(callOf({}), { also, ask: () => Promise.resolve(true) });
    expect(text).toContain(also);
  });

  test('without a terminal, shows the call and prints the command that allows exactly it', async () => {
    const action = callOf({ argv: ['sh', '-c', LONG] });
    const { allowed, code, text, message } = await confirm(action);
    expect({ allowed, code }).toEqual({ allowed: false, code: 'confirmation_required' });
    expect(text).toContain('; rm -rf src');
    expect(message).toContain(`refold approve a --session s --digest ${questionDigest(action)}`);
  });

  test('takes the digest of what was seen, and no other', async () => {
    const seen = callOf({ path: 'a' });
    expect(await confirm(seen, { digest: questionDigest(seen) })).toMatchObject({ allowed: true, text: '' });
    const ask = () => Promise.resolve(true);
    // A model's server gives the same id again: in another turn, in another session, to another tool.
    const others = [
      { arguments_digest: 'sha256:other' },
      { effect_id: 'batch-2/a/confirm' },
      { session_id: 't' },
      { tool_id: 'x' },
    ];
    for (const other of others) {
      const answered = await confirm(callOf({ path: 'a' }, other), { digest: questionDigest(seen), ask });
      expect(answered).toMatchObject({ allowed: false, code: 'arguments_mismatch', text: '' });
    }
  });

  test('refuses when stored arguments cannot be read', async () => {
    const stored = callOf(undefined, { arguments_ref: { ref: 'sha256:blob', bytes: 3, head: '', tail: '' } });
    const client = { getBlob: () => () => Promise.resolve(right(new Uint8Array([1, 2, 3]))) };
    const ask = () => Promise.resolve(true);
    expect(await confirm(stored, { client, ask })).toMatchObject({ allowed: false, code: 'unknown_blob' });
  });
});

describe('all arguments', () => {
  // Pictures of control characters, and code points in angle brackets, are how invisible characters are shown.
  const text = fc.string({ unit: fc.constantFrom('a', ' ', '"', ':', '|', '\n', '\\', '1', '\u202e') });
  const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(text, { maxLength: 2 }));
  const args = fc.dictionary(text, value, { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<JsonObject>;

  test('of different calls never look the same', () => {
    fc.assert(
      fc.property(args, args, (one, other) => {
        fc.pre(JSON.stringify(Object.entries(one)) !== JSON.stringify(Object.entries(other)));
        expect(allArguments(one)).not.toEqual(allArguments(other));
      }),
    );
  });

  test('are lines that begin with the mark of foreign text', () => {
    const isForeign = (line: string): boolean => /^\| [^\p{Cc}\p{Cf}]*$/u.test(line);
    fc.assert(
      fc.property(args, (one) => {
        expect(allArguments(one).filter((line) => !isForeign(line))).toEqual([]);
      }),
    );
  });
});

describe('a list of calls', () => {
  test('says how much of an argument it leaves out', () => {
    const lines = actionLines(callOf({ argv: ['sh', '-c', LONG], path: 'a' })).join('\n');
    expect(lines).not.toContain('rm -rf');
    expect(lines).toMatch(/… \d+ more characters/);
    expect(lines).toContain('refold approve a --session s');
  });

  test('names the command that answers a call for a person', () => {
    const custom = { kind: 'agent.custom_tool_use', tool_name: brand('ask') };
    expect(actionLines(callOf({}, custom)).join('\n')).toMatch(
      /refold answer a --session s --digest sha256:[0-9a-f]{64} --text/,
    );
  });
});

describe('a printed command', () => {
  /** What a shell makes of it: the words of the command, one a line, when it is one command. */
  const wordsOf = (command: string): readonly string[] =>
    spawnSync('sh', ['-c', `refold() { printf '%s\\n' "$@"; }; ${command}`], { encoding: 'utf8', env: {} })
      .stdout.trimEnd()
      .split('\n');

  test.each([
    'a;echo${IFS}mine',
    '$(echo${IFS}mine)',
    '`id`',
    "a'b",
    '--for-session',
    '-x',
    'a&',
    'a|b',
    '~',
    '!!',
    '#',
  ])('names the call %s in one word, which is no option', async (id) => {
    const action = callOf({ argv: ['ls'] }, { call_id: id });
    const commands = actionLines(action).flatMap((line) => /refold .*/.exec(stripVTControlCharacters(line)) ?? []);
    const { message } = await confirm(action);
    const all = [...commands, /refold approve .*/.exec(message)?.[0] ?? ''];
    expect(all).toHaveLength(3);
    for (const command of all) {
      const words = wordsOf(command);
      expect(words.filter((word) => word === id)).toHaveLength(1);
      expect(words.at(1)).toBe(id.startsWith('-') ? '--session' : id);
      if (id.startsWith('-')) expect(words.slice(-2)).toEqual(['--', id]);
    }
  });
});

test('a line of a text does not pass for another argument', () => {
  const lines = actionLines(callOf({ argv: ['rm', '-r'], stdin: 'x\nargv: ["ls"]', 'a\nargv': 1 }));
  const atMargin = lines.map((line) => stripVTControlCharacters(line)).filter((line) => line.startsWith('  | argv'));
  expect(atMargin).toEqual(['  | argv: ["rm","-r"]']);
});
