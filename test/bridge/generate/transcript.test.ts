import * as fc from 'fast-check';
import { isRight, left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../bridge/providers/provider.ts';
import { messagePageOf, pairPages, pairResults } from '../../../bridge/generate/message-pages.ts';
import { renderTranscript } from '../../../bridge/generate/transcript.ts';
import { canonicalText, digestText } from '../../../schemas/canonical.ts';
import type { Digest } from '../../../schemas/ids.ts';
import { reject } from '../../../schemas/rejection.ts';
import type { TranscriptEntry } from '../../../schemas/state.ts';

const store = (...texts: readonly string[]) => {
  const blobs = new Map(texts.map((text) => [digestText(text), Buffer.from(text)]));
  const read = (ref: Digest) => {
    const bytes = blobs.get(ref);
    return Promise.resolve(
      bytes === undefined ? left(reject('unknown_blob', '', '')) : right<never, Uint8Array>(bytes),
    );
  };
  return { read, kept: (ref: Digest) => blobs.get(ref) ?? null };
};

const assistant = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  text: '',
  calls: ids.map((id) => ({ id, name: 'read', arguments: '{}' })),
});
const result = (call_id: string): Message => ({ role: 'tool', call_id, name: 'read', text: call_id, is_error: false });

describe('pairing', () => {
  test('results whose call left the window are dropped', () => {
    expect(pairResults([result('old'), { role: 'user', text: 'go' }])).toEqual([{ role: 'user', text: 'go' }]);
  });

  test('a missing result is added, an unknown or second one dropped, and results are in call order', () => {
    const paired = pairResults([assistant('a', 'b', 'c'), result('c'), result('x'), result('a'), result('a')]);
    expect(paired.slice(1)).toMatchObject([{ call_id: 'a' }, { call_id: 'b', is_error: true }, { call_id: 'c' }]);
  });

  const id = fc.constantFrom('a', 'b', 'c', 'd');
  const message = fc.oneof(
    id.map(result),
    fc.uniqueArray(id, { maxLength: 4 }).map((ids) => assistant(...ids)),
    fc.constant<Message>({ role: 'user', text: 'u' }),
  );
  const isTool = ({ role }: Message): boolean => role === 'tool';
  const turn = fc
    .array(id, { maxLength: 4 })
    .map((ids): readonly Message[] => [assistant(...ids), ...ids.map((one) => result(one))]);
  const mostlyPaired = fc
    .array(fc.oneof({ weight: 6, arbitrary: turn }, { weight: 1, arbitrary: message.map((one) => [one]) }), {
      maxLength: 8,
    })
    .map((turns) => turns.flat());
  test('does not depend on where pages meet', () => {
    fc.assert(
      fc.property(fc.oneof(mostlyPaired, fc.array(message)), fc.array(fc.nat(6)), (messages, sizes) => {
        const pages = [];
        let from = 0;
        for (const size of sizes) pages.push(messages.slice(from, (from += size)));
        pages.push(messages.slice(from));
        expect(pairPages(pages.map(messagePageOf))).toEqual(pairResults(messages));
      }),
      { numRuns: 2_000 },
    );
  });

  test('leaves no call without a result and no result without a call, whatever the window', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30 }), (messages) => {
        const paired = pairResults(messages);
        const rest = paired.filter((one) => !isTool(one));
        expect(rest).toEqual(messages.filter((one) => !isTool(one)));
        const wanted = rest.flatMap((one) => [
          one.role,
          ...(one.role === 'assistant' ? one.calls.map(({ id }) => id) : []),
        ]);
        expect(paired.map((one) => (one.role === 'tool' ? one.call_id : one.role))).toEqual(wanted);
      }),
    );
  });
});

describe('rendering', () => {
  const entries = (list: readonly TranscriptEntry[]): string => canonicalText({ prev: null, entries: list });

  test('sealed pages come first, and large texts are whole', async () => {
    const long = 'long '.repeat(2_000);
    const page = entries([
      { role: 'user', content: { ref: digestText(long), bytes: long.length, head: '', tail: '' } },
    ]);
    const rendered = await renderTranscript(
      { count: 2, sealed: [digestText(page)], open: [{ role: 'assistant', content: { text: 'ok' } }] },
      store(page, long),
    );
    expect(rendered).toEqual(
      right([
        { role: 'user', text: long },
        { role: 'assistant', text: 'ok', calls: [] },
      ]),
    );
  });

  test('a text that cannot be read is replaced by its excerpts and a note', async () => {
    const ref = digestText('gone');
    const open: TranscriptEntry[] = [{ role: 'user', content: { ref, bytes: 9_999, head: 'HEAD', tail: 'TAIL' } }];
    const rendered = await renderTranscript({ count: 1, sealed: [], open }, store());
    expect(isRight(rendered) && rendered.right[0]).toMatchObject({
      text: expect.stringMatching(/^HEAD\n.*unknown_blob.*\nTAIL$/),
    });
  });

  test('arguments are what the model wrote: text, a blob, or an object', async () => {
    const big = '{"big":1}';
    const base = { tool_name: 'read' };
    const open = [
      {
        role: 'assistant',
        calls: [
          { ...base, call_id: 'a', arguments_text: '{bad' },
          { ...base, call_id: 'b', arguments: { z: 1, a: 2 } },
          { ...base, call_id: 'c', arguments_ref: { ref: digestText(big), bytes: 9, head: '', tail: '' } },
          { ...base, call_id: 'd' },
        ],
      },
    ] as unknown as TranscriptEntry[];
    const rendered = await renderTranscript({ count: 1, sealed: [], open }, store(big));
    const asked = isRight(rendered) ? rendered.right[0] : undefined;
    expect(asked?.role === 'assistant' && asked.calls.map((call) => call.arguments)).toEqual([
      '{bad',
      '{"a":2,"z":1}',
      big,
      '{}',
    ]);
  });

  test('a blob that is not a page is refused', async () => {
    const text = '{"entries":"none"}';
    const rendered = await renderTranscript({ count: 1, sealed: [digestText(text)], open: [] }, store(text));
    expect(rendered).toMatchObject({ left: { code: 'invalid_shape' } });
  });
});
