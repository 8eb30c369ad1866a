// The effects that a session owes, in a transcript: grouped by kind, each named by the call, turn or time it is about.
import type { Effect, EffectOfKind } from '../../../schemas/effect.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { effects } from '../../../src/core/index.ts';
import { attemptText } from './event-content.ts';
import { namesOf, since } from './words.ts';

type Subjects = { readonly [K in Effect['kind']]: (effect: EffectOfKind<K>, startMs: number) => string };

const SUBJECTS: Subjects = {
  'llm.generate': ({ run_id, turn }) => `${run_id}/${turn}`,
  'llm.compact': ({ run_id, turn }) => `${run_id}/${turn}`,
  'tool.call': ({ call_id, attempt, after }) => {
    const named = attemptText(call_id, attempt);
    return after.length === 0 ? named : `${named}(after ${namesOf(after)})`;
  },
  'agent.tool_use': ({ call_id }) => call_id,
  'agent.custom_tool_use': ({ call_id }) => call_id,
  'agent.elicitation': ({ call_id, attempt }) => attemptText(call_id, attempt),
  'tool.answer': ({ call_id, attempt, answer }) => `${attemptText(call_id, attempt)}(${answer.action})`,
  'tool.cancel': ({ call_id }) => call_id,
  'batch.settle': ({ batch_id }) => batch_id,
  'host_session.open': ({ run_id }) => run_id,
  'call.undo': ({ call_id, position }) => `${call_id}@${position}`,
  'call.preview': ({ call_id, attempt }) => attemptText(call_id, attempt),
  wake: ({ at_ms }, startMs) => since(at_ms, startMs),
};

export function owedOf(state: SessionState, startMs: number): string {
  const groups = new Map<Effect['kind'], string[]>();
  for (const effect of effects(state)) {
    const subject = (SUBJECTS[effect.kind] as (effect: Effect, startMs: number) => string)(effect, startMs);
    groups.set(effect.kind, [...(groups.get(effect.kind) ?? []), subject]);
  }
  return [...groups].map(([kind, subjects]) => `${kind} ${namesOf(subjects)}`).join('; ');
}
