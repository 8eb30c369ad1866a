// The answers of the people of a simulated world when they are asked about a call, or asked to perform one. The scenario
// puts the answer into the arguments of the call.
import { digestText } from '../../schemas/canonical.ts';
import type { Effect, EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import { type Digest, brand } from '../../schemas/ids.ts';
import type { StoredSession } from './laws/stored-session.ts';
import type { Answered } from './outside/outside-script.ts';
import type { CallScript } from './scenario.ts';
import { previewScriptOf } from './sim-previews.ts';
import { scriptedArguments } from './sim-tools.ts';

type Elicited = Extract<Ingress, { readonly kind: 'user.elicitation_result' }>;

/** The answers to what a call asks, and after how many milliseconds they are sent. */
export function answerToCall(
  effect: EffectOfKind<'agent.elicitation'>,
  stored: StoredSession | null,
): { readonly answers: readonly Elicited[]; readonly afterMs: number } {
  const { batch_id, call_id, attempt, question } = effect;
  const call = stored?.call(call_id);
  const { answers: hows = [] } = (call?.observed.arguments as unknown as CallScript | undefined)?.outside ?? {};
  const nth = (call?.left.questions.length ?? 1) - 1;
  const how = hows[nth % hows.length] ?? 'accept';
  const say = (said: Pick<Elicited, 'action' | 'content'>, to = question): Elicited => ({
    kind: 'user.elicitation_result',
    batch_id,
    call_id,
    attempt,
    question: to,
    ...said,
  });
  const accepts = say({ action: 'accept', content: { to: question } });
  const answers: Readonly<Record<Answered, readonly Elicited[]>> = {
    accept: [accepts],
    late: [accepts],
    decline: [say({ action: 'decline' })],
    cancel: [say({ action: 'cancel' })],
    twice: [accepts, say({ action: 'accept', content: { to: 'another' } })],
    after_cancel: [say({ action: 'cancel' }), accepts],
    foreign: [say({ action: 'accept', content: { to: question } }, digestText('another question')), accepts],
    misfit: [say({ action: 'accept', content: { to: 7 } }), accepts],
  };
  return { answers: answers[how], afterMs: how === 'late' ? LATE_MS : 0 };
}

/** How late a late answer is, in milliseconds. */
const LATE_MS = 4_000;

type Confirmation = Extract<Ingress, { readonly kind: 'user.tool_confirmation' }>;

type Asked = EffectOfKind<'agent.tool_use' | 'agent.custom_tool_use'>;

/** The answers to an effect, in the order in which they are sent; none when it does not address a person. */
export function answerTo(effect: Effect): readonly Ingress[] {
  if (effect.kind !== 'agent.tool_use' && effect.kind !== 'agent.custom_tool_use') return [];
  const answer = effect.kind === 'agent.tool_use' ? confirm(effect) : fulfil(effect);
  const mistaken = { ...answer, arguments_digest: digestText('other arguments') };
  const mistakes = [
    ...(scriptOf(effect).does === 'throw' ? [mistaken] : []),
    ...(namesForeign(effect) ? [{ ...confirm(effect), preview: digestText('another preview') }] : []),
  ];
  return [...mistakes, answer];
}

/** Whether the preview of a call that the answer is to name may still come. */
export const awaitsPreview = (effect: Effect): boolean =>
  effect.kind === 'agent.tool_use' &&
  effect.preview_until_ms !== undefined &&
  previewScriptOf(effect.arguments).named !== 'none';

/** The first answer names a preview that no call has. */
const namesForeign = (effect: Asked): boolean =>
  effect.kind === 'agent.tool_use' &&
  (effect.preview !== undefined || effect.preview_until_ms !== undefined) &&
  previewScriptOf(effect.arguments).named === 'foreign';

/** The recorded preview, for an answer that names it. */
function namedBy(effect: Asked): { readonly preview?: Digest } {
  if (effect.kind !== 'agent.tool_use' || effect.preview === undefined || !('digest' in effect.preview)) return {};
  return previewScriptOf(effect.arguments).named === 'none' ? {} : { preview: effect.preview.digest };
}

const scriptOf = ({ arguments: args }: Asked): CallScript => args as unknown as CallScript;

const confirm = (effect: Asked): Confirmation => {
  const { batch_id, call_id, arguments_digest } = effect;
  const script = scriptOf(effect);
  const asked = { kind: 'user.tool_confirmation', batch_id, call_id, arguments_digest } as const;
  if (script.does === 'fail') return { ...asked, result: 'deny' };
  if (script.does !== 'amend') {
    const grant = script.grants === true ? { grant: { argument: 'path', pattern: '**' } } : {};
    return { ...asked, result: 'allow', ...grant, ...namedBy(effect) };
  }
  const args = { ...scriptedArguments({ ...script, does: 'succeed' }), path: 'amended' };
  const instead = { call_id: brand<'CallId'>(`${call_id}.instead`), tool_name: effect.tool_name, arguments: args };
  return { ...asked, result: 'deny', instead };
};

const fulfil = (effect: Asked): Extract<Ingress, { readonly kind: 'user.custom_tool_result' }> => {
  const { batch_id, call_id, arguments_digest } = effect;
  const success = scriptOf(effect).does !== 'fail';
  const output = { text: `${call_id} by hand` };
  return { kind: 'user.custom_tool_result', batch_id, call_id, arguments_digest, result: { success }, output };
};
