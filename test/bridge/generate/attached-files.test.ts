// The files that go to a model with one request: which, in which message, and what the text says of the others.
import * as fc from 'fast-check';
import { isRight, left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { newSecretFileCheck } from '../../../bridge/generate/secret-files.ts';
import { renderTranscript } from '../../../bridge/generate/transcript.ts';
import type { Message, MessageAttachment } from '../../../bridge/providers/provider.ts';
import { canonicalText, digestText } from '../../../schemas/canonical.ts';
import type { Attachment } from '../../../schemas/content.ts';
import { type Digest, brand } from '../../../schemas/ids.ts';
import {
  ATTACHMENT_BYTES_MAX,
  REQUEST_FILES_MAX,
  REQUEST_FILE_BYTES_MAX,
  SEARCHED_FILES_MAX,
} from '../../../schemas/limits.ts';
import { reject } from '../../../schemas/rejection.ts';
import type { TranscriptEntry } from '../../../schemas/state.ts';
import { PDF, PNG, attachmentOf } from '../../support/attachments.ts';
import { SESSION, newWorld } from '../../support/bridge/harness.ts';

const IMAGE = attachmentOf(PNG, 'image/png', 'a.png');
const DOCUMENT = attachmentOf(PDF, 'application/pdf');

const storeOf = (...files: readonly (Uint8Array | string)[]) => {
  const blobs = new Map(files.map((file) => [digestText(file), Buffer.from(file)]));
  const reads: Digest[] = [];
  const read = (ref: Digest) => {
    reads.push(ref);
    const bytes = blobs.get(ref);
    return Promise.resolve(
      bytes === undefined ? left(reject('unknown_blob', '', '')) : right<never, Uint8Array>(bytes),
    );
  };
  return { read, reads, kept: (ref: Digest) => blobs.get(ref) ?? null };
};

const said = (text: string, ...attachments: readonly Attachment[]): TranscriptEntry => ({
  role: 'user',
  content: { text },
  ...(attachments.length === 0 ? {} : { attachments }),
});

async function rendered(
  open: readonly TranscriptEntry[],
  blobs: Parameters<typeof renderTranscript>[1],
  sealed: readonly Digest[] = [],
): Promise<readonly Message[]> {
  const messages = await renderTranscript({ count: open.length, sealed, open }, blobs);
  if (!isRight(messages)) throw new Error(messages.left.message);
  return messages.right;
}

const filesOf = (message: Message | undefined): readonly MessageAttachment[] =>
  message === undefined || message.role === 'assistant' ? [] : (message.attachments ?? []);

describe('the files of a request', () => {
  test('are in their messages, with type, name and bytes, from sealed pages too', async () => {
    const page = canonicalText({ prev: null, entries: [said('old', IMAGE)] });
    const call = { call_id: brand<'CallId'>('c'), tool_name: 'shot', arguments: {} };
    const open: TranscriptEntry[] = [
      { role: 'assistant', calls: [call] },
      {
        role: 'tool',
        call_id: call.call_id,
        tool_name: 'shot',
        content: { text: 'ok' },
        attachments: [DOCUMENT, IMAGE],
      },
      said('none'),
    ];
    const blobs = storeOf(page, PNG, PDF);
    const png = { media_type: 'image/png', name: 'a.png', bytes: Buffer.from(PNG) };
    const pdf = { media_type: 'application/pdf', bytes: Buffer.from(PDF) };
    // Twice, because pages are rendered once and kept.
    for (const _time of [1, 2]) {
      const messages = await rendered(open, blobs, [digestText(page)]);
      expect(messages.map(filesOf)).toEqual([[png], [], [pdf, png], []]);
      expect(messages[0]).toMatchObject({ role: 'user', text: 'old' });
      expect(messages[3]).toEqual({ role: 'user', text: 'none' });
    }
  });

  test('that cannot be read are named in the text', async () => {
    const [message] = await rendered([said('see', IMAGE, DOCUMENT)], storeOf(PDF));
    expect(message).toEqual({
      role: 'user',
      text: `see\n[The file a.png (image/png, ${PNG.length} bytes) cannot be read now (unknown_blob).]`,
      attachments: [{ media_type: 'application/pdf', bytes: Buffer.from(PDF) }],
    });
  });

  test('that hold a secret are named in the text', async () => {
    const withheld = (bytes: Uint8Array): Promise<boolean> => Promise.resolve(bytes.length === PNG.length);
    const [message] = await rendered([said('', IMAGE)], { ...storeOf(PNG), withheld });
    const text = `[The file a.png (image/png, ${PNG.length} bytes) is left out: it holds a secret.]`;
    expect(message).toEqual({ role: 'user', text });
  });

  test('are only named, and not read, where the texts are wanted', async () => {
    const blobs = storeOf(PNG, PDF);
    const [message] = await rendered([said('see', IMAGE, DOCUMENT)], { ...blobs, files: 'named' });
    expect(message).toEqual({
      role: 'user',
      text: [
        'see',
        `[The file a.png (image/png, ${PNG.length} bytes) is attached.]`,
        `[A file (application/pdf, ${PDF.length} bytes) is attached.]`,
      ].join('\n'),
    });
    expect(blobs.reads).toEqual([]);
  });

  test('are the newest, as many as a request may have', async () => {
    const many = Array.from({ length: REQUEST_FILES_MAX + 2 }, (_, n) => said(`m${n}`, { ...IMAGE, name: `${n}.png` }));
    const messages = await rendered(many, storeOf(PNG));
    expect(messages.map((message) => filesOf(message).length)).toEqual([0, 0, ...many.slice(2).map(() => 1)]);
    expect(messages[1]).toMatchObject({ text: expect.stringMatching(/^m1\n\[The file 1\.png .* is left out: /) });
  });

  test('are the newest, with as many bytes as a request may have, and never exceed them', async () => {
    const size = fc.integer({ min: 0, max: ATTACHMENT_BYTES_MAX });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(size, { minLength: 1, maxLength: 4 }), { maxLength: 12 }), async (sizes) => {
        // The bytes are not made: what counts is what the references say.
        const entries = sizes.map((of) => said('m', ...of.map((bytes) => ({ ...IMAGE, bytes }))));
        const messages = await rendered(entries, storeOf(PNG));
        let room = REQUEST_FILE_BYTES_MAX;
        const fits = sizes.toReversed().map((of) => of.filter((bytes) => bytes <= room && (room -= bytes) >= 0).length);
        expect(messages.map((message) => filesOf(message).length)).toEqual(fits.toReversed());
      }),
    );
  });
});

test('the model gets the files of the conversation, and none that holds a secret', async () => {
  const secret = 'sk-0123456789abcdef';
  const hidden = Buffer.concat([PDF, Buffer.from(secret)]);
  const world = newWorld();
  const asked: (readonly Message[])[] = [];
  world.start({
    secrets: [secret],
    provider: {
      generate: ({ messages }) => {
        asked.push(messages);
        return Promise.resolve({ content: 'done', calls: [] });
      },
    },
  });
  world.engine.blobs.set(IMAGE.ref, PNG);
  world.engine.blobs.set(digestText(hidden), hidden);
  const attachments = [IMAGE, attachmentOf(hidden, 'application/pdf', 'keys.pdf')];
  world.engine.record(SESSION, { kind: 'RunRequested', input: { text: 'go' }, attachments });
  await world.finish();
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject([
    {
      text: expect.stringMatching(/^go\n\[The file keys\.pdf .* holds a secret\.\]$/) as string,
      attachments: [{ media_type: 'image/png', name: 'a.png', bytes: PNG }],
    },
  ]);
});

test('a file is searched for secrets once, until too many others were', async () => {
  const searched: number[] = [];
  const check = newSecretFileCheck({
    reach: 0,
    has: (bytes) => {
      searched.push(bytes.length);
      return bytes.length === 1;
    },
  });
  const ask = (length: number): Promise<boolean> => check(new Uint8Array(length), digestText(`${length}`));
  expect([await ask(1), await ask(2), await ask(1), await ask(2)]).toEqual([true, false, true, false]);
  expect(searched).toEqual([1, 2]);
  for (let length = 3; length <= SEARCHED_FILES_MAX + 1; length += 1) await ask(length);
  searched.length = 0;
  expect([await ask(1), await ask(1)]).toEqual([true, true]);
  expect(searched).toEqual([1]);
});
