// How long the JSON of a grant is, in UTF-16 units, about: conversations and tools as they are, calls and plans by what
// they may take at most. Nothing is written for it that is written again for each grant.
import { charsOfPage } from '../../../reducers/transcript.ts';
import type { EffectOfKind } from '../../../schemas/effect.ts';
import { CALL_HANDLE_CHARS_MAX, ELICITATION_ANSWER_BYTES_MAX, INLINE_CHARS_MAX } from '../../../schemas/limits.ts';
import type { ToolBatchPlan } from '../../../schemas/plan.ts';
import type { BridgeEffect } from './owed-effects.ts';

/** An id or a digest with its quotes and comma. */
const ID_CHARS = 132;
/** The fields of an effect or of a planned call, without those of any length. */
const FIELDS_CHARS = 1_024;

export function charsOfEffect(effect: BridgeEffect): number {
  if (effect.kind === 'llm.generate') return charsOfPages(effect) + toolChars(effect.tools);
  if (effect.kind === 'llm.compact') return charsOfPages(effect);
  if (effect.kind === 'tool.call')
    return (
      FIELDS_CHARS + INLINE_CHARS_MAX + effect.after.length * ID_CHARS + charsOfFiles(effect) + charsOfResume(effect)
    );
  if (effect.kind === 'call.preview') return FIELDS_CHARS + INLINE_CHARS_MAX;
  if (effect.kind === 'tool.answer') return FIELDS_CHARS + ELICITATION_ANSWER_BYTES_MAX;
  return effect.kind === 'call.undo' ? JSON.stringify(effect).length : FIELDS_CHARS;
}

const charsOfResume = ({ resume }: EffectOfKind<'tool.call'>): number =>
  resume === undefined ? 0 : CALL_HANDLE_CHARS_MAX + INLINE_CHARS_MAX + ELICITATION_ANSWER_BYTES_MAX;

const charsOfFiles = ({ previewed = [] }: EffectOfKind<'tool.call'>): number =>
  previewed.reduce((sum, { path }) => sum + path.length + 2 * ID_CHARS, 0);

const charsOfPages = ({ transcript }: Pick<EffectOfKind<'llm.generate'>, 'transcript'>): number =>
  FIELDS_CHARS + 2 * INLINE_CHARS_MAX + charsOfPage(transcript.open) + transcript.sealed.length * ID_CHARS;

type Tools = EffectOfKind<'llm.generate'>['tools'];

const knownTools = new WeakMap<Tools, number>();

/** The tools that a run offers are the same in most of its turns. */
function toolChars(tools: Tools): number {
  const chars = knownTools.get(tools) ?? JSON.stringify(tools).length;
  knownTools.set(tools, chars);
  return chars;
}

const knownPlans = new WeakMap<ToolBatchPlan, number>();

export function charsOfPlan(plan: ToolBatchPlan): number {
  const known = knownPlans.get(plan);
  if (known !== undefined) return known;
  let chars = FIELDS_CHARS * (1 + plan.planned_calls.length + plan.rejected.length);
  for (const { claims } of plan.planned_calls) for (const { key } of claims) chars += key.length;
  for (const after of Object.values(plan.execution_plan.after)) chars += after.length * ID_CHARS;
  knownPlans.set(plan, chars);
  return chars;
}
