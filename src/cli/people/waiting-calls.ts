// Calls that wait for a person: listing them, finding the one a command names, and submitting its answer.
import { isLeft } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import { callStateAt } from '../../../reducers/batch-index.ts';
import { isInline } from '../../../schemas/content.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { type SessionId, brand } from '../../../schemas/ids.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { BODY_BYTES_MAX } from '../../../schemas/limits.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { allSessions } from '../../client/all-sessions.ts';
import type { EngineClient } from '../../client/client.ts';
import { type PersonEffect, personEffects } from '../../core/status.ts';
import type { Options } from '../command.ts';
import { visible } from '../../shown/visible.ts';
import { withEngine } from '../with-engine.ts';
import { type FirstAnswer, firstAnswer, isLate } from '../../client/first-answer.ts';
import { must, mustBe } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';

/** The call that a command answers. */
export interface AnswerTo {
  readonly dataDir: string;
  readonly call: string;
  readonly session?: SessionId;
}

/** Finds the call, submits the event that `answer` makes for it, and prints the receipt. */
export async function answerCall<K extends PersonEffect['kind']>(
  to: AnswerTo,
  kinds: readonly K[],
  output: Output,
  answer: (action: Extract<PersonEffect, { readonly kind: K }>, client: EngineClient) => Promise<Ingress> | Ingress,
): Promise<number> {
  return await withEngine(to.dataDir, async (client) => {
    const action = await findAction(client, to, kinds);
    const event = await answer(action, client);
    const submitted = await client.submit(action.session_id, { events: [event] })();
    if (isLeft(submitted) && isLate(submitted.left)) throw await tooLate(client, action, submitted.left);
    const receipt = mustBe(submitted);
    output.object({ event, receipt });
    output.line(`${paint.green('✓')} recorded at position ${receipt.events[0]?.position ?? 0} of ${action.session_id}`);
    return 0;
  });
}

/** All calls that wait for a person, in every session or in one. */
export async function waitingCalls(client: EngineClient, session?: SessionId): Promise<readonly PersonEffect[]> {
  const ids: SessionId[] = session === undefined ? [] : [session];
  if (session === undefined) {
    for await (const { session_id } of allSessions(client, { status: 'requires_action' })) ids.push(session_id);
  }
  const found: PersonEffect[] = [];
  for (const id of ids) {
    const view = await client.session(id)();
    if (isLeft(view)) {
      if (session !== undefined) await must(() => Promise.resolve(view));
      continue;
    }
    found.push(...personEffects(view.right.state));
  }
  return found;
}

/** The call that a command names; throws a failure that says why it cannot be answered. */
export async function findAction<K extends PersonEffect['kind']>(
  client: EngineClient,
  to: Omit<AnswerTo, 'dataDir'>,
  kinds: readonly K[],
): Promise<Extract<PersonEffect, { readonly kind: K }>> {
  const named = (await waitingCalls(client, to.session)).filter(({ call_id }) => call_id === to.call);
  const [action, another] = named;
  if (action === undefined) {
    const why = await whatBecameOf(client, to);
    const message = `no call "${to.call}" waits for a person${why}. List the calls that wait: refold approvals`;
    throw new CommandFailure('unknown_call', message);
  }
  if (another !== undefined) {
    const ids = named.map(({ session_id }) => session_id).join(', ');
    const message = `a call "${to.call}" waits in several sessions (${ids}). Choose one with --session ID`;
    throw new CommandFailure('invalid_shape', message);
  }
  if ((kinds as readonly string[]).includes(action.kind)) return action as Extract<PersonEffect, { readonly kind: K }>;
  const other = action.kind === 'agent.tool_use' ? 'refold approve or refold deny' : 'refold answer';
  throw new CommandFailure('invalid_shape', `the call "${to.call}" takes another kind of answer. Use ${other}`);
}

/** An answer to a call that was answered since it was found. */
async function tooLate(client: EngineClient, action: PersonEffect, refused: Rejection): Promise<CommandFailure> {
  const { state } = await must(client.session(action.session_id));
  const from = Math.max(0, state.version - SEARCHED_EVENTS_MAX);
  const first = await firstAnswer(client, action.session_id, { ...action, from });
  return new CommandFailure(refused.code, first === null ? refused.message : wasFirst(first));
}

const wasFirst = ({ by, what, position }: FirstAnswer): string =>
  `${by === null ? 'somebody' : visible(by)} was first: ${what} (position ${position})`;

/** The result of a call that does not wait any more, and who answered it, as the end of a sentence; empty when it is not found. */
async function whatBecameOf(client: EngineClient, { call, session }: Omit<AnswerTo, 'dataDir'>): Promise<string> {
  let searched = 0;
  for await (const { session_id } of allSessions(client)) {
    if (session !== undefined && session_id !== session) continue;
    const view = await client.session(session_id)();
    const found = isLeft(view) ? null : callIn(view.right.state, call);
    if (found !== null && !isLeft(view)) {
      const from = Math.max(0, view.right.state.version - SEARCHED_EVENTS_MAX);
      const first = await firstAnswer(client, session_id, { call_id: found.call_id, from });
      const result = found.result === null ? '' : `; its result is "${visible(found.result)}"`;
      return `${result}${first === null ? '' : `; ${wasFirst(first)}`}`;
    }
    searched += 1;
    if (searched === SEARCHED_MAX) return '';
  }
  return '';
}

/** How many sessions are searched for the result of one call, and how many events for its answer. */
const SEARCHED_MAX = 100;
const SEARCHED_EVENTS_MAX = 2_000;

/** A call of the open batch or of the last messages; null when it is in neither. */
function callIn({ active_tool_batch: batch, transcript }: SessionState, call: string) {
  const at = batch?.observed.findIndex(({ call_id }) => call_id === call) ?? -1;
  const open = batch === null || at === -1 ? undefined : callStateAt(batch, at);
  const entry = transcript.open.findLast(({ role, call_id }) => role === 'tool' && call_id === call);
  if (open === undefined && entry === undefined) return null;
  const shown = open?.output ?? entry?.content;
  const result = shown === undefined || shown === null || !isInline(shown) ? null : shown.text.slice(0, 400);
  return { call_id: brand<'CallId'>(call), result: result?.toWellFormed() ?? null };
}

/** A JSON object given as an option; undefined when the option is absent. */
export function objectOption(options: Options, name: string): JsonObject | undefined {
  const given = options[name];
  if (typeof given !== 'string') return undefined;
  const parsed = parseJson(given, BODY_BYTES_MAX);
  if (isLeft(parsed)) throw new CommandFailure(parsed.left.code, `--${name}: ${parsed.left.message}`);
  if (!isPlainObject(parsed.right)) throw new CommandFailure('invalid_shape', `--${name} takes a JSON object`);
  return parsed.right;
}
