// Layouts for turns that were recorded without one: items that each API has, and some that do not fit the turn.
import type { Layout, LayoutPart, ModelApi } from '../../schemas/model-turn.ts';
import { MODEL_APIS } from '../../schemas/model-turn.ts';
import type { Random } from '../../src/testing/random.ts';
import { MODELS } from './requests.ts';

const ITEMS: { readonly [api in ModelApi]: string } = {
  'openai.chat': '{"message":{"reasoning_content":"hm"}}',
  'openai.responses': '{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA","summary":[]}',
  'anthropic.messages': '{"type":"thinking","thinking":"hm","signature":"c2ln"}',
  'gemini.generate_content': '{"text":"hm","thought":true,"thoughtSignature":"c2ln"}',
  'bedrock.converse': '{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}}',
};

/** A layout of any API for a turn with this text and as many calls; null for none. */
export function anyLayout(random: Random, text: string, calls: number): Layout | null {
  if (random.oneIn(3)) return null;
  const api = random.pick(MODEL_APIS);
  const item: LayoutPart = { item: ITEMS[api] };
  // One in eight does not fit.
  const length = random.oneIn(8) ? text.length + 1 : text.length;
  const cut = random.below(length + 1);
  const parts: readonly LayoutPart[] = [
    ...(random.oneIn(4) ? [] : [item]),
    ...(cut === 0 ? [] : [{ text: cut }]),
    ...Array.from({ length: calls }, (_, call) => ({ call })),
    ...(length === cut ? [] : [{ text: length - cut }]),
    ...(random.oneIn(6) ? [item] : []),
  ];
  return { api, model: MODELS[api][random.oneIn(4) ? 1 : 0], parts: { text: JSON.stringify(parts) } };
}
