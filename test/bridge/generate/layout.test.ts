// Layouts: those that do not fit are ignored, those that do come back as they were, and none carries a secret.
import * as fc from 'fast-check';
import { isRight } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { GenerateReply, GenerateRequest, ReplyLayout } from '../../../bridge/providers/provider.ts';
import { layoutWithout, recordedParts } from '../../../bridge/generate/layout.ts';
import { renderTranscript } from '../../../bridge/generate/transcript.ts';
import { createRedactor } from '../../../bridge/secrets/redactor.ts';
import { LAYOUT_BYTES_MAX } from '../../../schemas/limits.ts';
import type { LayoutPart } from '../../../schemas/model-turn.ts';
import type { TranscriptEntry } from '../../../schemas/state.ts';
import { SESSION, call, newWorld } from '../../support/bridge/harness.ts';

const SECRET = 'sk-0123456789abcdef';
const redactor = createRedactor([SECRET]);
const item = fc.json().map((json) => ({ item: json }));
const extra = fc.option(fc.constantFrom('{"id":"x"}', '{"big":12345678901234567890}', String.raw`{"s":"\ud800"}`), {
  nil: undefined,
});
const withExtra = (part: { text: number } | { call: number }, fields: string | undefined): LayoutPart =>
  fields === undefined ? part : { ...part, with: fields };

/** A turn whose parts fit it: texts, calls and items in any order. */
const turn = fc
  .array(
    fc.oneof(
      fc.record({ text: fc.oneof(fc.string(), fc.constant(`a ${SECRET} b`)), fields: extra }),
      fc.record({ call: fc.constant(true), fields: extra }),
      item,
    ),
    { maxLength: 8 },
  )
  .map((drawn) => {
    let calls = 0;
    const parts = drawn.map((one): LayoutPart => {
      if ('item' in one) return one;
      return 'text' in one
        ? withExtra({ text: one.text.length }, one.fields)
        : withExtra({ call: calls++ }, one.fields);
    });
    const text = drawn.map((one) => ('text' in one ? one.text : '')).join('');
    return { parts, text, calls: Array.from({ length: calls }, (_, index) => call(`c${index}`, 'read')) };
  });

const layoutOf = (parts: readonly LayoutPart[]): ReplyLayout => ({ api: 'anthropic.messages', model: 'claude', parts });

describe('a recorded layout', () => {
  test('comes back as it was when it fits the turn, and is ignored when a text or a call is missing', () => {
    fc.assert(
      fc.property(turn, ({ parts, text, calls }) => {
        const recorded = JSON.stringify(parts);
        expect(recordedParts(recorded, { text, calls })).toEqual(parts);
        expect(recordedParts(recorded, { text: `${text}!`, calls })).toBeNull();
        expect(recordedParts(recorded, { text, calls: [...calls, call('more', 'read')] })).toBeNull();
        if (calls.length > 0) expect(recordedParts(recorded, { text, calls: calls.slice(1) })).toBeNull();
      }),
    );
  });

  test.each([
    ['no JSON', '[{'],
    ['no list', '{"text":2}'],
    ['no part', '[null]'],
    ['two parts in one', '[{"text":2,"call":0}]'],
    ['a negative length', '[{"text":3},{"text":-1}]'],
    ['a call twice', '[{"text":2},{"call":0},{"call":0}]'],
    ['a broken item', '[{"text":2},{"call":0},{"item":"{"}]'],
    ['fields that are no object', '[{"text":2,"with":"[]"},{"call":0}]'],
    ['fields of an item', '[{"text":2},{"call":0},{"item":"{}","with":"{}"}]'],
  ])('that has %s is ignored', (_, recorded) => {
    expect(recordedParts(recorded, { text: 'ab', calls: [call('a', 'read')] })).toBeNull();
    expect(recordedParts('[{"text":2},{"call":0}]', { text: 'ab', calls: [call('a', 'read')] })).not.toBeNull();
  });

  test('is part of the message, with the ids of the provider', async () => {
    const observed = { call_id: 'call-1-0', tool_name: 'read', arguments: {}, provider_call_id: 'functions.read:0' };
    const recorded = { api: 'openai.chat', model: 'kimi', parts: { text: '[{"text":2,"with":"{}"},{"call":0}]' } };
    const open = [
      { role: 'assistant', content: { text: 'ab' }, calls: [observed], layout: recorded },
    ] as unknown as TranscriptEntry[];
    const rendered = await renderTranscript(
      { count: 1, sealed: [], open },
      { read: () => Promise.reject(new Error()) },
    );
    expect(isRight(rendered) && rendered.right[0]).toEqual({
      role: 'assistant',
      text: 'ab',
      calls: [{ id: 'call-1-0', provider_id: 'functions.read:0', name: 'read', arguments: '{}' }],
      layout: { api: 'openai.chat', model: 'kimi', parts: [{ text: 2, with: '{}' }, { call: 0 }] },
    });
  });
});

describe('the layout without secrets', () => {
  test('fits the text without secrets and holds none, or is dropped', async () => {
    await fc.assert(
      fc.asyncProperty(turn, async ({ parts, text, calls }) => {
        const redacted = redactor.text(text);
        const kept = await layoutWithout(layoutOf(parts), { text, redacted }, redactor);
        if (kept === null) return;
        expect(recordedParts(JSON.stringify(kept.parts), { text: redacted, calls })).toEqual(kept.parts);
        expect(JSON.stringify(kept)).not.toContain(SECRET);
        if (redacted === text) expect(kept.parts).toEqual(parts);
      }),
    );
  });

  test('loses the items and the fields in which a secret occurs, and counts the shorter text', async () => {
    const text = `use ${SECRET} now`;
    const said = { item: JSON.stringify({ thinking: SECRET }) };
    const fields = JSON.stringify({ url: encodeURIComponent(SECRET) });
    const parts = [said, { text: text.length, with: fields }, { item: '{}' }, { call: 0, with: fields }];
    const kept = await layoutWithout(layoutOf(parts), { text, redacted: redactor.text(text) }, redactor);
    expect(kept?.parts).toEqual([{ text: 'use ‹secret› now'.length }, { item: '{}' }, { call: 0 }]);
  });

  test('is dropped when a secret begins in one text and ends in another', async () => {
    const parts = [{ text: 8 }, { item: '{}' }, { text: SECRET.length - 8 }];
    const redacted = redactor.text(SECRET);
    expect(await layoutWithout(layoutOf(parts), { text: SECRET, redacted }, redactor)).toBeNull();
  });
});

describe('a generate', () => {
  const twoRuns = async (reply: GenerateReply, secrets: readonly string[] = []) => {
    const asked: GenerateRequest[] = [];
    const world = newWorld();
    const generate = (request: GenerateRequest) => {
      asked.push(request);
      return Promise.resolve(reply);
    };
    world.start({ provider: { generate }, secrets });
    world.request();
    await world.finish();
    world.request();
    await world.finish();
    const sent = asked[1]?.messages.find(({ role }) => role === 'assistant');
    return { world, sent, recorded: world.engine.of('ToolCallsObserved')[0] };
  };

  test('records the stop and the layout, and sends the layout with the next request', async () => {
    const layout = layoutOf([{ item: '{"n":12345678901234567890}' }, { text: 4, with: '{"id":"m"}' }]);
    const stop = { reason: 'end', word: 'end_turn' } as const;
    const { sent, recorded } = await twoRuns({ content: 'done', calls: [], stop, layout });
    expect(recorded).toMatchObject({ stop, layout: { api: 'anthropic.messages', model: 'claude' } });
    expect(sent).toMatchObject({ text: 'done', layout });
  });

  test('keeps a large layout in a blob, and drops and logs one that is too large', async () => {
    const sized = (bytes: number) => layoutOf([{ item: JSON.stringify('x'.repeat(bytes)) }, { text: 4 }]);
    const large = await twoRuns({ content: 'done', calls: [], layout: sized(100_000) });
    expect(large.recorded?.layout?.parts).toHaveProperty('ref');
    expect(large.sent).toHaveProperty('layout', sized(100_000));
    const tooLarge = await twoRuns({ content: 'done', calls: [], layout: sized(LAYOUT_BYTES_MAX) });
    expect(tooLarge.recorded).not.toHaveProperty('layout');
    expect(tooLarge.recorded?.content).toEqual({ text: 'done' });
    expect(tooLarge.world.log.map(({ event }) => event)).toContain('layout_dropped');
  });

  test('neither records nor sends a secret of a layout', async () => {
    const layout = layoutOf([{ item: JSON.stringify(SECRET) }, { text: 4, with: JSON.stringify({ id: SECRET }) }]);
    const { sent, recorded } = await twoRuns({ content: 'done', calls: [], layout }, [SECRET]);
    expect(JSON.stringify(recorded)).not.toContain(SECRET);
    expect(sent).toMatchObject({ layout: { parts: [{ text: 4 }] } });
  });

  test.each([
    ['a stop without a reason', { stop: { word: 'stop' } }, 'at "/stop/reason"'],
    ['an unknown API', { layout: { api: 'x', model: 'm', parts: [{ text: 1 }] } }, 'at "/layout/api"'],
    ['a text that is too short', { layout: layoutOf([]) }, 'at "/layout/parts": the texts have 0 characters'],
    ['a call that is not there', { layout: layoutOf([{ call: 1 }, { text: 1 }]) }, 'at "/layout/parts/0/call"'],
    ['an item that is no JSON', { layout: layoutOf([{ item: 'x' }, { text: 1 }]) }, 'at "/layout/parts/0/item"'],
  ])('fails when its provider answers with %s', async (_, fields, message) => {
    const { world } = await twoRuns({ content: 'a', calls: [], ...fields } as GenerateReply);
    expect(world.engine.state(SESSION).run_history[0]?.ending).toMatchObject({
      code: 'provider_terminal',
      message: expect.stringContaining(message) as string,
    });
  });
});
