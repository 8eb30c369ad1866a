// The ids of calls as an API takes them. Providers have their own alphabets and lengths, some give an id again in a later turn,
// and refold's own begin again in each run; in a request every id is valid and occurs once.
import type { Message, MessageCall } from '../provider.ts';

export interface IdRule {
  /** Matches one character that an id may hold, such as `/[A-Za-z0-9_-]/`. Letters and digits must be among them. */
  readonly alphabet: RegExp;
  readonly max: number;
  /** The fewest characters; shorter ids are padded. */
  readonly min?: number;
}

/**
 * The messages with ids that the rule allows, unique in all of them; each result gets the id of its call. The provider's own id stays when
 * it fits and is new. The id of a call does not depend on later messages, so that a cached prompt stays the same.
 */
export function wireIds(messages: readonly Message[], rule: IdRule): readonly Message[] {
  const ids = newIdSource(rule);
  // The call that a result answers is the last one with its id.
  const wire = new Map<string, string>();
  return messages.map((message) => {
    if (message.role === 'user') return message;
    if (message.role === 'tool') {
      return { ...message, call_id: wire.get(message.call_id) ?? ids.next(message.call_id) };
    }
    const calls = message.calls.map(({ provider_id, ...call }): MessageCall => {
      const id = ids.next(provider_id ?? call.id);
      wire.set(call.id, id);
      return { ...call, id };
    });
    return { ...message, calls };
  });
}

function newIdSource({ alphabet, max, min = 1 }: IdRule) {
  const used = new Set<string>();
  const repeats = new Map<string, number>();
  const foreign = new RegExp(`(?!${alphabet.source})[^]`, `g${alphabet.flags.replace('g', '')}`);
  const filler = new RegExp(alphabet.source, alphabet.flags.replace('g', '')).test('_') ? '_' : '0';

  function next(wanted: string): string {
    const plain = wanted.replace(foreign, filler).slice(0, max).padEnd(min, '0');
    const base = wanted === '' ? 'call'.slice(0, max).padEnd(min, '0') : plain;
    let id = base;
    while (used.has(id)) {
      const count = (repeats.get(base) ?? 1) + 1;
      repeats.set(base, count);
      const suffix = `${filler}${count}`;
      id = `${base.slice(0, max - suffix.length)}${suffix}`;
    }
    used.add(id);
    return id;
  }
  return { next };
}
