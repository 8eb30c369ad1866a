// Attachments at the edge: only what the bytes of a blob confirm is recorded; and the stores keep what is recorded.
import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../schemas/content.ts';
import { brand } from '../../schemas/ids.ts';
import { ATTACHMENTS_MAX, ATTACHMENT_BYTES_MAX, GC_GRACE_MS } from '../../schemas/limits.ts';
import { newBlobCheck } from '../../src/client/watch/blob-check.ts';
import { must } from '../../src/client/must.ts';
import { replay } from '../../src/core/index.ts';
import { collectBlobs } from '../../src/engine/collect-blobs.ts';
import { FILES, PDF, PNG, ZIP, attachmentOf } from '../support/attachments.ts';
import { ZERO_DIGEST } from '../support/engine/inputs.ts';
import { SESSION, type World, callsIn, newWorld, packageOf, settled } from '../support/engine/world.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { streamEvents } from '../support/records.ts';
import { PERSON, READ } from '../support/tools.ts';

async function prepared(): Promise<World> {
  const world = await newWorld();
  await world.talk.create(packageOf([READ, PERSON]));
  for (const bytes of [...Object.values(FILES), ZIP]) await must(world.talk.client.putBlob(bytes));
  return world;
}

const GOOD = attachmentOf(PNG, 'image/png', 'a.png');

/** Each event with attachments, in a session that takes it. */
const PLACES: Readonly<
  Record<string, readonly [path: string, event: (world: World, attachments: readonly object[]) => Promise<object>]>
> = {
  'the input of a run': ['', async (_, attachments) => ({ kind: 'RunRequested', input: { text: 'see' }, attachments })],
  'a follow-up': [
    '/follow_up',
    async (_, attachments) => ({ kind: 'FollowUpQueued', follow_up: { input: { text: 'see' }, attachments } }),
  ],
  'a steering message': [
    '',
    async ({ talk }, attachments) => {
      await talk.run();
      return { kind: 'RunSteered', run_id: 'run-1', input: { text: 'see' }, attachments };
    },
  ],
  'an interrupt': [
    '',
    async ({ talk }, attachments) => {
      await talk.run();
      return { kind: 'user.interrupt', run_id: 'run-1', input: { text: 'see' }, attachments };
    },
  ],
  'the result of a call': [
    '',
    async ({ talk }, attachments) => {
      await talk.calls(['a', 'read']);
      const [call] = callsIn(await talk.lease(brand<'OwnerId'>('bridge-a')));
      return { ...settled(call as NonNullable<typeof call>), attachments };
    },
  ],
  'an answer of a person': [
    '',
    async ({ talk }, attachments) => {
      const { active_tool_batch: batch } = await talk.calls(['a', 'person']);
      const arguments_digest = batch?.plan.planned_calls[0]?.arguments_digest;
      const answer = { batch_id: 'batch-1', call_id: 'a', arguments_digest, result: { success: true } };
      return { kind: 'user.custom_tool_result', ...answer, output: { text: 'here' }, attachments };
    },
  ],
};

const FAULTS: Readonly<Record<string, readonly [attachment: object, code: string, field: string]>> = {
  'an archive named PNG': [attachmentOf(ZIP, 'image/png', 'a.png'), 'invalid_value', ''],
  'a PDF that claims to be a PNG': [attachmentOf(PDF, 'image/png'), 'content_mismatch', '/media_type'],
  'a size that is not that of the blob': [{ ...GOOD, bytes: PNG.length - 1 }, 'content_mismatch', '/bytes'],
  'a blob that does not exist': [{ ...GOOD, ref: ZERO_DIGEST }, 'unknown_blob', ''],
  '17 MiB': [{ ...GOOD, bytes: 17 * 1_048_576 }, 'invalid_shape', '/bytes'],
  'a type that no model takes': [attachmentOf(ZIP, 'application/zip' as never), 'invalid_shape', '/media_type'],
};

describe.each(Object.entries(PLACES))('%s', (_name, [path, eventOf]) => {
  test.each(Object.entries(FAULTS))('is refused with %s', async (_fault, [bad, code, field]) => {
    const world = await prepared();
    const event = await eventOf(world, [GOOD, bad]);
    const before = await world.talk.state();
    const refused = await refusal(world.talk.client.submit(SESSION, { events: [event] } as never));
    expect(refused).toMatchObject({ code, path: `/events/0${path}/attachments/1${field}` });
    expect(await world.talk.state()).toEqual(before);
  });

  test('is refused with one too many, and with none', async () => {
    const world = await prepared();
    const event = await eventOf(world, []);
    for (const count of [0, ATTACHMENTS_MAX + 1]) {
      const many = path === '' ? { attachments: filled(count) } : followUpOf(filled(count));
      const refused = await refusal(world.talk.client.submit(SESSION, { events: [{ ...event, ...many }] } as never));
      expect(refused).toMatchObject({ code: 'invalid_shape', path: `/events/0${path}/attachments` });
    }
  });

  test('is recorded with a file of each type, when it describes its blobs', async () => {
    const world = await prepared();
    const files = Object.entries(FILES).map(([type, bytes]) => attachmentOf(bytes, type as Attachment['media_type']));
    expect(await world.talk.outcome((await eventOf(world, files)) as never)).toBe('done');
  });
});

const filled = (count: number): readonly object[] => Array.from({ length: count }, () => GOOD);
const followUpOf = (attachments: readonly object[]) => ({ follow_up: { input: { text: '' }, attachments } });

test('a file that is none of the types is refused with those that are', async () => {
  const world = await prepared();
  const event = { kind: 'RunRequested', input: { text: '' }, attachments: [attachmentOf(ZIP, 'image/gif')] };
  const { message } = await refusal(world.talk.client.submit(SESSION, { events: [event] } as never));
  expect(message).toContain('image/png, image/jpeg, image/gif, image/webp, application/pdf');
});

test('a truncated file that was stored is refused as what was meant', async () => {
  const world = await prepared();
  const cut = PNG.slice(0, 12);
  await must(world.talk.client.putBlob(cut));
  for (const [bad, code] of [
    [attachmentOf(cut, 'image/png'), 'invalid_value'],
    [{ ...attachmentOf(cut, 'image/png'), bytes: PNG.length }, 'content_mismatch'],
  ] as const) {
    const event = { kind: 'RunRequested', input: { text: '' }, attachments: [bad] };
    expect(await world.talk.outcome(event as never)).toBe(code);
  }
});

test('the largest attachment is recorded', async () => {
  const world = await prepared();
  const bytes = new Uint8Array(ATTACHMENT_BYTES_MAX);
  bytes.set(PNG);
  await must(world.talk.client.putBlob(bytes));
  const attachments = [attachmentOf(bytes, 'image/png')];
  expect(await world.talk.outcome({ kind: 'RunRequested', input: { text: '' }, attachments } as never)).toBe('done');
});

describe('what is attached', () => {
  const attached = async (): Promise<World> => {
    const world = await prepared();
    await world.talk.submit([{ kind: 'RunRequested', input: { text: 'see' }, attachments: [GOOD] } as never]);
    return world;
  };

  /** What `refold verify` finds in the blobs of the session. */
  const checkedBlobs = async (world: World) => {
    const records = await must(world.engine.client.records(SESSION));
    const check = newBlobCheck(world.engine.client);
    for (const recorded of streamEvents(records)) check.add(recorded);
    const { divergence, state } = replay(records);
    expect(divergence).toBeNull();
    return await check.finish(state);
  };

  test('is kept when other blobs are collected', async () => {
    const world = await attached();
    const { journal, blobs } = world.disk;
    await must(collectBlobs({ journal, blobs, nowMs: Date.now() + 10 * GC_GRACE_MS, remove: true }));
    expect(await must(blobs.has(GOOD.ref))).toBe(true);
    expect(await must(blobs.has(attachmentOf(ZIP, 'image/png').ref))).toBe(false);
    expect(await checkedBlobs(world)).toEqual({ checked: 1, absent: 0, bad: [] });
  });

  test('is named when it is missing', async () => {
    const world = await attached();
    await must(world.disk.blobs.delete(GOOD.ref));
    expect(await checkedBlobs(world)).toMatchObject({
      bad: [{ ref: GOOD.ref, position: 0, path: '/event/attachments/0', code: 'unknown_blob' }],
    });
  });

  test('stays in a fork', async () => {
    const world = await attached();
    const fork = await must(world.engine.client.fork(SESSION));
    const { state } = await must(world.engine.client.session(fork.session_id));
    expect(state.transcript.open).toMatchObject([{ attachments: [GOOD] }]);
  });
});
