// What running calls note and ask in a random stream, and what people answer. Each draw makes one of them, or none.
import { callStateAt, positionOf } from '../../reducers/batch-index.ts';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { IngressKind } from '../../schemas/event.ts';
import type { SessionState } from '../../schemas/state.ts';
import { type Fact, say } from './facts.ts';

type FactOf<K extends IngressKind> = Extract<Fact, { readonly kind: K }>;
type Attempt = Pick<EffectOfKind<'tool.call'>, 'attempt' | 'batch_id' | 'call_id'>;

const attemptOf = ({ batch_id, call_id, attempt }: Attempt) => ({ batch_id, call_id, attempt });

export const plausibleNote = (owed: Attempt, draw: number): FactOf<'ToolCallNoted'> | null =>
  draw % 7 === 2 ? { kind: 'ToolCallNoted', ...attemptOf(owed), handle: `task-${draw}` } : null;

export const plausibleQuestion = (owed: Attempt, draw: number): FactOf<'ToolCallAsked'> | null =>
  draw % 7 === 4
    ? {
        kind: 'ToolCallAsked',
        ...attemptOf(owed),
        question: { message: `which of ${owed.call_id}?`, schema: { type: 'object' } },
        ...(draw % 2 === 0 ? { resume: say(`state ${draw}`) } : {}),
      }
    : null;

export const plausibleAnswer = (
  { question, ...owed }: EffectOfKind<'agent.elicitation'>,
  draw: number,
): FactOf<'user.elicitation_result'> => ({
  kind: 'user.elicitation_result',
  ...attemptOf(owed),
  question,
  ...(draw % 3 === 0 ? { action: 'decline' as const } : { action: 'accept' as const, content: { n: draw } }),
});

/** Whether the start of a call is on record, and its end is not. */
export function isRunning({ active_tool_batch: batch }: SessionState, { call_id }: EffectOfKind<'tool.call'>): boolean {
  const position = batch === null ? undefined : positionOf(batch, call_id);
  return batch !== null && position !== undefined && callStateAt(batch, position)?.status === 'running';
}
