// Calls that wait for a person: listing them, finding the one a command names, and submitting its answer.
import { isLeft } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import { callStateAt } from '../../../reducers/batch-index.ts';
import { isInline } from '../../../schemas/content.ts';
import type { Ingress } from '../../../schemas/event.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { BODY_BYTES_MAX } from '../../../schemas/limits.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { allSessions } from '../../client/all-sessions.ts';
import type { EngineClient } from '../../client/client.ts';
import { type RequiredAction, requiredActions } from '../../core/status.ts';
import type { Options } from '../command.ts';
import { visible } from '../../shown/visible.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';

/** The call that a command answers. */
export interface AnswerTo {
  readonly dataDir: string;
  readonly call: string;
  readonly session?: SessionId;
}

/** Finds the call, submits the event that `answer` makes for it, and prints the receipt. */
export async function answerCall(
  to: AnswerTo,
  kind: RequiredAction['kind'],
  output: Output,
  answer: (action: RequiredAction, client: EngineClient) => Promise<Ingress> | Ingress,
): Promise<number> {
  return await withEngine(to.dataDir, async (client) => {
    const action = await findAction(client, to, kind);
    const event = await answer(action, client);
    const receipt = await must(client.submit(action.session_id, { events: [event] }));
    output.object({ event, receipt });
    output.line(`${paint.green('✓')} recorded at position ${receipt.events[0]?.position ?? 0} of ${action.session_id}`);
    return 0;
  });
}

/** All calls that wait for a person, in every session or in one. */
export async function waitingCalls(client: EngineClient, session?: SessionId): Promise<readonly RequiredAction[]> {
  const ids: SessionId[] = session === undefined ? [] : [session];
  if (session === undefined) {
    for await (const { session_id } of allSessions(client, { status: 'requires_action' })) ids.push(session_id);
  }
  const found: RequiredAction[] = [];
  for (const id of ids) {
    const view = await client.session(id)();
    if (isLeft(view)) {
      if (session !== undefined) await must(() => Promise.resolve(view));
      continue;
    }
    found.push(...requiredActions(view.right.state));
  }
  return found;
}

/** The call that a command names; throws a failure that says why it cannot be answered. */
export async function findAction(
  client: EngineClient,
  to: Omit<AnswerTo, 'dataDir'>,
  kind: RequiredAction['kind'],
): Promise<RequiredAction> {
  const named = (await waitingCalls(client, to.session)).filter(({ call_id }) => call_id === to.call);
  const [action, another] = named;
  if (action === undefined) {
    const result = await resultShown(client, to);
    const why = result === null ? '' : `; its result is "${visible(result)}"`;
    const message = `no call "${to.call}" waits for a person${why}. List the calls that wait: refold approvals`;
    throw new CommandFailure('unknown_call', message);
  }
  if (another !== undefined) {
    const ids = named.map(({ session_id }) => session_id).join(', ');
    const message = `a call "${to.call}" waits in several sessions (${ids}). Choose one with --session ID`;
    throw new CommandFailure('invalid_shape', message);
  }
  if (action.kind === kind) return action;
  const other = kind === 'agent.tool_use' ? 'refold answer' : 'refold approve or refold deny';
  throw new CommandFailure('invalid_shape', `the call "${to.call}" takes another kind of answer. Use ${other}`);
}

/** The result of a call that was answered without a person, as the model reads it; null when it is not found. */
async function resultShown(client: EngineClient, { call, session }: Omit<AnswerTo, 'dataDir'>): Promise<string | null> {
  let searched = 0;
  for await (const { session_id } of allSessions(client)) {
    if (session !== undefined && session_id !== session) continue;
    const view = await client.session(session_id)();
    const result = isLeft(view) ? null : resultIn(view.right.state, call);
    if (result !== null) return result;
    searched += 1;
    if (searched === SEARCHED_MAX) return null;
  }
  return null;
}

/** How many sessions are searched for the result of one call. */
const SEARCHED_MAX = 100;

function resultIn({ active_tool_batch: batch, transcript }: SessionState, call: string): string | null {
  const at = batch?.observed.findIndex(({ call_id }) => call_id === call) ?? -1;
  const open = batch === null || at === -1 ? null : callStateAt(batch, at)?.output;
  const shown = open ?? transcript.open.findLast(({ role, call_id }) => role === 'tool' && call_id === call)?.content;
  return shown === undefined || shown === null || !isInline(shown) ? null : shown.text.slice(0, 400).toWellFormed();
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
