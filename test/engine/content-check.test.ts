// A reference to a blob is recorded only when it describes the blob: in every field of every event that can hold one.
import { describe, expect, test } from 'vitest';
import type { BlobText } from '../../schemas/content.ts';
import { must } from '../../src/client/must.ts';
import { SESSION, type World, callsIn, newWorld, packageOf, settled } from '../support/engine/world.ts';
import { ZERO_DIGEST } from '../support/engine/inputs.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { PERSON, READ } from '../support/tools.ts';
import { brand } from '../../schemas/ids.ts';

const TEXT = `${'ä'.repeat(4_000)}\u{1f600}${'z'.repeat(1_000)}`;
const BYTES = new TextEncoder().encode(TEXT);

interface Prepared {
  readonly world: World;
  readonly content: BlobText;
}

async function prepared(): Promise<Prepared> {
  const world = await newWorld();
  await world.talk.create(packageOf([READ, PERSON]));
  const ref = await must(world.talk.client.putBlob(BYTES));
  return {
    world,
    content: { ref, bytes: BYTES.length, head: 'ääää', tail: '\u{1f600}'.concat('z'.repeat(1_000)).slice(-512) },
  };
}

const FAULTS: Readonly<Record<string, readonly [change: Partial<BlobText>, code: string, field: string]>> = {
  'a size that is too small': [{ bytes: 5 }, 'content_mismatch', '/bytes'],
  'a size that is too large': [{ bytes: BYTES.length + 1 }, 'content_mismatch', '/bytes'],
  'another beginning': [{ head: 'äääz' }, 'content_mismatch', '/head'],
  'a beginning that is longer than an excerpt of another text': [
    { head: `${'ä'.repeat(511)}z` },
    'content_mismatch',
    '/head',
  ],
  'another end': [{ tail: 'zzzä' }, 'content_mismatch', '/tail'],
  'a blob that does not exist': [{ ref: ZERO_DIGEST }, 'unknown_blob', ''],
};

/** Where each event holds a reference, in a session that takes the event. */
const PLACES: Readonly<
  Record<string, readonly [path: string, event: (given: Prepared, content: object) => Promise<object>]>
> = {
  'the input of a run': ['/input', async (_, input) => ({ kind: 'RunRequested', input })],
  'the instructions of a run': [
    '/run_overrides/instructions',
    async (_, instructions) => ({ kind: 'RunRequested', input: { text: '' }, run_overrides: { instructions } }),
  ],
  'the instructions of a session': [
    '/config/instructions',
    async (_, instructions) => ({ kind: 'SessionConfigured', config: { instructions } }),
  ],
  'a follow-up': ['/follow_up/input', async (_, input) => ({ kind: 'FollowUpQueued', follow_up: { input } })],
  'a steering message': [
    '/input',
    async ({ world }, input) => {
      await world.talk.run();
      return { kind: 'RunSteered', run_id: 'run-1', input };
    },
  ],
  'an interrupt': [
    '/input',
    async ({ world }, input) => {
      await world.talk.run();
      return { kind: 'user.interrupt', run_id: 'run-1', input };
    },
  ],
  'an answer of the model': [
    '/content',
    async ({ world }, content) => {
      await world.talk.run();
      return { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [], content };
    },
  ],
  'arguments of a call': [
    '/calls/1/arguments_ref',
    async ({ world }, arguments_ref) => {
      await world.talk.run();
      const calls = [
        { call_id: 'a', tool_name: 'read' },
        { call_id: 'b', tool_name: 'read', arguments_ref },
      ];
      return { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls };
    },
  ],
  'the output of a call': [
    '/output',
    async ({ world }, output) => {
      await world.talk.calls(['a', 'read']);
      const [call] = callsIn(await world.talk.lease(brand<'OwnerId'>('bridge-a')));
      return { ...settled(call as NonNullable<typeof call>), output };
    },
  ],
  'an answer of a person': [
    '/output',
    async ({ world }, output) => {
      const { active_tool_batch: batch } = await world.talk.calls(['a', 'person']);
      const arguments_digest = batch?.plan.planned_calls[0]?.arguments_digest;
      const answer = { batch_id: 'batch-1', call_id: 'a', arguments_digest, result: { success: true } };
      return { kind: 'user.custom_tool_result', ...answer, output };
    },
  ],
  'the output of a run': [
    '/output',
    async ({ world }, output) => {
      await world.talk.run();
      return { kind: 'RunCompleted', run_id: 'run-1', output };
    },
  ],
};

describe.each(Object.entries(PLACES))('%s', (_name, [path, eventOf]) => {
  test.each(Object.entries(FAULTS))('is refused with %s', async (_fault, [change, code, field]) => {
    const given = await prepared();
    const event = await eventOf(given, { ...given.content, ...change });
    const before = await given.world.talk.state();
    const refused = await refusal(given.world.talk.client.submit(SESSION, { events: [event] } as never));
    expect(refused).toMatchObject({ code, path: `/events/0${path}${field}` });
    expect(await given.world.talk.state()).toEqual(before);
  });

  test('is recorded when it describes its blob', async () => {
    const given = await prepared();
    expect(await given.world.talk.outcome((await eventOf(given, given.content)) as never)).toBe('done');
  });
});

describe('bytes that are kept for an undo', () => {
  test.each([
    ['another size', 'content_mismatch', { bytes: 5 }, '/bytes'],
    ['a blob that does not exist', 'unknown_blob', { ref: ZERO_DIGEST }, ''],
  ])('are refused with %s', async (_name, code, change, field) => {
    const { world, content } = await prepared();
    await world.talk.calls(['a', 'read']);
    const [call] = callsIn(await world.talk.lease(brand<'OwnerId'>('bridge-a')));
    const before = { ref: content.ref, bytes: content.bytes, ...change };
    const changes = [{ path: 'a', before, after_digest: null }];
    const event = { ...settled(call as NonNullable<typeof call>), changes };
    const refused = await refusal(world.talk.client.submit(SESSION, { events: [event] } as never));
    expect(refused).toMatchObject({ code, path: `/events/0/changes/0/before${field}` });
  });
});

describe('the config of a new session', () => {
  test('is refused when its instructions do not describe their blob', async () => {
    const { world, content } = await prepared();
    const config = { instructions: { ...content, bytes: 5 } };
    const refused = await refusal(world.talk.client.createSession({ session_id: 'new', config } as never));
    expect(refused).toMatchObject({ code: 'content_mismatch', path: '/config/instructions/bytes' });
    expect((await must(world.talk.client.sessions())).sessions).toHaveLength(1);
  });
});

test('what a model or a tool wrote is never a reference', async () => {
  const { world, content } = await prepared();
  await world.talk.run();
  const lie = { ...content, bytes: 5 };
  const calls = [{ call_id: 'a', tool_name: 'read', arguments: lie }];
  await world.talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls } as never]);
  const [call] = callsIn(await world.talk.lease(brand<'OwnerId'>('bridge-a')));
  const event = { ...settled(call as NonNullable<typeof call>), result: { success: true, data: lie } };
  expect(await world.talk.outcome(event as never)).toBe('done');
});

test('excerpts may end inside a character, and may be empty', async () => {
  const { world } = await prepared();
  const emoji = new TextEncoder().encode('\u{1f600}'.repeat(400));
  const ref = await must(world.talk.client.putBlob(emoji));
  for (const excerpts of [
    { head: '\u{1f600}\ufffd', tail: '\ufffd\u{1f600}' },
    { head: '\u{1f600}'.repeat(256), tail: '\u{1f600}'.repeat(256) },
    { head: '', tail: '' },
  ]) {
    const instructions = { ref, bytes: emoji.length, ...excerpts };
    expect(await world.talk.outcome({ kind: 'SessionConfigured', config: { instructions } } as never)).toBe('done');
  }
});
