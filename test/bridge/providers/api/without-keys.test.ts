import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { newDeltaGate, replyWithout } from '../../../../bridge/providers/api/without-keys.ts';
import type { ReplyDelta } from '../../../../bridge/providers/provider.ts';
import { SECRET_MARK, createRedactor } from '../../../../bridge/secrets/redactor.ts';

const keys = ['key-aaaaaaaaaaaaaaaaaaaa', 'key-xxxxkey-xxxxkey-xxxx'];
const texts = fc.array(fc.oneof(fc.constantFrom(...keys, 'key-', 'a', 'é🙂', 'key-aaaaaaa', ' '), fc.string()), {
  maxLength: 6,
});

test('deltas, however they are cut, show the text without keys, and each kind in its order', () => {
  fc.assert(
    fc.property(fc.constantFrom(...keys), texts, texts, fc.infiniteStream(fc.nat(9)), (key, said, thought, cuts) => {
      const redactor = createRedactor([key]);
      const shown = { text: '', thinking: '' };
      const gate = newDeltaGate(redactor, ({ kind, text }) => {
        expect(text).not.toBe('');
        shown[kind] += text;
      });
      const wanted = { text: said.join(''), thinking: thought.join('') };
      const rest = { text: Array.from(wanted.text), thinking: Array.from(wanted.thinking) };
      while (rest.text.length + rest.thinking.length > 0) {
        for (const kind of ['text', 'thinking'] as const) {
          const piece = rest[kind].splice(0, (cuts.next().value ?? 0) + 1).join('');
          if (piece !== '') gate.take({ kind, text: piece } satisfies ReplyDelta);
        }
      }
      gate.end();
      expect(shown).toEqual({ text: redactor.text(wanted.text), thinking: redactor.text(wanted.thinking) });
    }),
  );
});

test('a layout stays while its lengths fit', async () => {
  const [key = ''] = keys;
  const redactor = createRedactor([key]);
  const layout = {
    api: 'openai.chat',
    model: 'm',
    parts: [{ item: `{"message":{"reasoning":"${key}"}}` }, { text: 2 }],
  };
  const clean = { ...layout, parts: [{ item: `{"message":{"reasoning":"${SECRET_MARK}"}}` }, { text: 2 }] };
  const kept = await replyWithout({ content: 'hi', calls: [], layout } as never, redactor);
  expect(kept.layout).toEqual(clean);
  const cut = { ...layout, parts: [{ text: key.length }] };
  expect(await replyWithout({ content: key, calls: [], layout: cut } as never, redactor)).toEqual({
    content: SECRET_MARK,
    calls: [],
  });
});
