// `refold approvals`, `approve`, `deny`, `answer`: what waits for a person, and their word on it, from any terminal.
import { isLeft } from 'fp-ts/lib/Either.js';
import pc from 'picocolors';
import type { GrantScope } from '../../../schemas/consent.ts';
import type { Ingress } from '../../../schemas/event.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { BODY_BYTES_MAX } from '../../../schemas/limits.ts';
import type { EngineClient } from '../../client/client.ts';
import { type RequiredAction, requiredActions } from '../../core/status.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { allowing, denying, fulfilling } from '../people/answers.ts';
import { actionLine } from '../people/describe-action.ts';
import { userName } from '../people/user-name.ts';
import { storeContent } from '../store-content.ts';

/** The call that is spoken of. */
export interface AnswerTo {
  readonly dataDir: string;
  readonly call: string;
  readonly session?: SessionId;
}

type Options = Readonly<Record<string, string | boolean | undefined>>;

export async function approvalsCommand(dataDir: string, output: Output): Promise<number> {
  const pending = await withEngine(dataDir, (client) => pendingIn(client));
  for (const action of pending) {
    output.object({ action });
    output.line(actionLine(action.session_id, action));
  }
  if (pending.length === 0) output.line('nothing waits for a person');
  else output.line(pc.dim('refold approve CALL, refold deny CALL --message "…", refold answer CALL --text "…"'));
  return 0;
}

export const approveCommand = (to: AnswerTo, options: Options, output: Output): Promise<number> =>
  speak(to, 'agent.tool_use', output, (action) => Promise.resolve(allowing(action, userName(), grantOf(options))));

export const denyCommand = (to: AnswerTo, options: Options, output: Output): Promise<number> =>
  speak(to, 'agent.tool_use', output, (action) => {
    const instead = objectOf(options, 'instead');
    const { message } = options;
    const denial = {
      ...(typeof message === 'string' ? { message } : {}),
      ...(instead === undefined ? {} : { instead }),
    };
    return Promise.resolve(denying(action, userName(), denial));
  });

export const answerCommand = (to: AnswerTo, options: Options, output: Output): Promise<number> =>
  speak(to, 'agent.custom_tool_use', output, async (action, client) => {
    const data = objectOf(options, 'data');
    const { text } = options;
    if (typeof text !== 'string' && data === undefined) {
      throw new CommandFailure('invalid_shape', 'say what the model is to read: --text "…", or --data \'{…}\'');
    }
    const said = typeof text === 'string' ? text : JSON.stringify(data);
    const content = await must(storeContent(client, said));
    const success = options['failed'] !== true;
    return fulfilling(action, userName(), { success, output: content, ...(data === undefined ? {} : { data }) });
  });

async function speak(
  to: AnswerTo,
  kind: RequiredAction['kind'],
  output: Output,
  answer: (action: RequiredAction, client: EngineClient) => Promise<Ingress>,
): Promise<number> {
  return await withEngine(to.dataDir, async (client) => {
    const action = await findAction(client, to, kind);
    const event = await answer(action, client);
    const receipt = await must(client.submit(action.session_id, { events: [event] }));
    output.object({ event, receipt });
    output.line(`${pc.green('✓')} recorded at position ${receipt.events[0]?.position ?? 0} of ${action.session_id}`);
    return 0;
  });
}

/** Everything that waits, in every session or in one. */
async function pendingIn(client: EngineClient, session?: SessionId): Promise<readonly RequiredAction[]> {
  const ids =
    session === undefined
      ? (await must(client.sessions())).filter(({ owing }) => owing).map(({ session_id }) => session_id)
      : [session];
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

async function findAction(client: EngineClient, to: AnswerTo, kind: RequiredAction['kind']): Promise<RequiredAction> {
  const named = (await pendingIn(client, to.session)).filter(({ call_id }) => call_id === to.call);
  const [action, another] = named;
  if (action === undefined) {
    throw new CommandFailure(
      'unknown_call',
      `no call "${to.call}" waits for a person. To see what does: refold approvals`,
    );
  }
  if (another !== undefined) {
    const ids = named.map(({ session_id }) => session_id).join(', ');
    throw new CommandFailure(
      'invalid_shape',
      `several sessions have a call "${to.call}" that waits: say --session (${ids})`,
    );
  }
  if (action.kind === kind) return action;
  const other = kind === 'agent.tool_use' ? 'refold answer' : 'refold approve or refold deny';
  throw new CommandFailure('invalid_shape', `the call "${to.call}" waits for something else: ${other}`);
}

function grantOf(options: Options): GrantScope | undefined {
  const { pattern, forSession } = options;
  if (typeof pattern !== 'string') return forSession === true ? {} : undefined;
  const [, argument, glob] = /^([^=]+)=(.+)$/s.exec(pattern) ?? [];
  if (argument === undefined || glob === undefined) {
    throw new CommandFailure('invalid_shape', `--pattern takes ARGUMENT=GLOB, such as path=src/**, not "${pattern}"`);
  }
  return { argument, pattern: glob };
}

function objectOf(options: Options, name: string): JsonObject | undefined {
  const given = options[name];
  if (typeof given !== 'string') return undefined;
  const parsed = parseJson(given, BODY_BYTES_MAX);
  if (isLeft(parsed)) throw new CommandFailure(parsed.left.code, `--${name}: ${parsed.left.message}`);
  if (!isPlainObject(parsed.right)) throw new CommandFailure('invalid_shape', `--${name} takes a JSON object`);
  return parsed.right;
}
