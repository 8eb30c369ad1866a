// Calls that wait for a person, as an application sees them, and its answers.
import {
  type CallConsent,
  type CallQuestion,
  Digest,
  type ElicitationAnswer,
  type GrantScope,
  type Ingress,
  type JsonObject,
  type SessionId,
  brand,
  decode,
  SessionId as SessionIdCodec,
} from '../../schemas/index.ts';
import { type EngineClient, allSessions, must, mustBe } from '../../src/client/index.ts';
import { type Elicitation, type PersonEffect, type RequiredAction, personEffects } from '../../src/core/index.ts';
import { storeText, readArguments, wholeText } from './contents.ts';

/** Names the question that is answered, as it was shown; a question is one, with all of its fields. */
export interface QuestionAddress {
  /** The session that waits. */
  readonly session: string;
  /** The call; a model's server may give the same id to a call of another turn. */
  readonly call: string;
  /** The turn that the call is of, as the question says: a late or doubled answer reaches no call of another turn. */
  readonly batch: string;
  /** The digest of the arguments that were shown, or of what the call asks, as the question says. */
  readonly digest: string;
}

/**
 * What waits for a person: may a call run (`approval`), please do it (`task`, for custom tools), or the call itself asks
 * (`elicitation`).
 */
export interface Question extends QuestionAddress {
  readonly type: 'question';
  /** `approval`: may it run? `task`: please do it. `elicitation`: what the call asks is in `asked`. */
  readonly kind: 'approval' | 'task' | 'elicitation';
  /** The name that the model called. */
  readonly tool: string;
  /** Exactly those that the answer is about; none of an `elicitation`. */
  readonly arguments: JsonObject;
  /** Why the policy asks. */
  readonly reasons: CallConsent['reasons'];
  /** Until when it may be answered, in milliseconds since 1970; null without a limit. */
  readonly dueAtMs: number | null;
  /** What the call would do, once its bridge has said it; null before, and for tools that cannot say it. */
  readonly preview: QuestionPreview | null;
  /** What an `elicitation` asks; null of every other question. Its texts are those of others. */
  readonly asked: CallQuestion | null;
  /** Answers it, once. Throws a RejectedError when the call does not wait for this answer any more. */
  readonly answer: (answer: Answer) => Promise<void>;
}

/** What a call would do. */
export interface QuestionPreview {
  /** Names it in an answer: the call then runs only while its files are as they were. */
  readonly digest: string;
  /** Lines for people, each with its mark; null when they are stored and cannot be read. */
  readonly diff: string | null;
  /** The files that it would change, relative to the workspace. */
  readonly files: readonly string[];
}

/** `true` and `false` are short for an approval and a denial; a `text` is what a person did, for a `task`. */
export type Answer =
  | boolean
  | {
      readonly allow: true;
      /** Further calls are allowed for the rest of the session: all of this tool, or those that a pattern fits. */
      readonly grant?: GrantScope;
      /** The digest of the preview that the person saw; with another one than the question has now, the answer is refused. */
      readonly preview?: string;
      /** Who answers: recorded with the answer. */
      readonly by?: string;
    }
  | {
      readonly allow: false;
      /** The model reads it. */
      readonly message?: string;
      /** Arguments to run the tool with instead. */
      readonly instead?: JsonObject;
      /** Who answers: recorded with the answer. */
      readonly by?: string;
    }
  | {
      /** What the model reads. */
      readonly text: string;
      /** False when it could not be done; true by default. */
      readonly success?: boolean;
      /** Structured facts for the record. */
      readonly data?: JsonObject;
      /** Who answers: recorded with the answer. */
      readonly by?: string;
    }
  | {
      /** For an `elicitation`. `true` and `false` are short for `accept` without content, and `decline`. */
      readonly action: ElicitationAnswer['action'];
      /** With `accept`: what fits the schema of the question. */
      readonly content?: JsonObject;
      /** Who answers: recorded with the answer. */
      readonly by?: string;
    };

/** The questions that are open, of one session or of all. */
export async function openQuestions(client: EngineClient, session?: string): Promise<readonly Question[]> {
  const ids: SessionId[] = session === undefined ? [] : [mustBe(decode(SessionIdCodec, session))];
  if (session === undefined) {
    for await (const { session_id } of allSessions(client, { status: 'requires_action' })) ids.push(session_id);
  }
  const found: Question[] = [];
  for (const id of ids) {
    const { state } = await must(client.session(id));
    for (const action of personEffects(state)) found.push(await questionOf(client, action));
  }
  return found;
}

export async function questionOf(client: EngineClient, action: PersonEffect): Promise<Question> {
  if (action.kind === 'agent.elicitation') return elicitationOf(client, action);
  return {
    type: 'question',
    kind: action.kind === 'agent.tool_use' ? 'approval' : 'task',
    session: action.session_id,
    call: action.call_id,
    batch: action.batch_id,
    digest: action.arguments_digest,
    tool: action.tool_name,
    arguments: await readArguments(client, action),
    reasons: action.kind === 'agent.tool_use' ? action.consent.reasons : [],
    dueAtMs: action.due_at_ms ?? null,
    preview: await previewOf(client, action),
    asked: null,
    answer: (answer) => answerAction(client, action, answer),
  };
}

const elicitationOf = (client: EngineClient, asks: Elicitation): Question => ({
  type: 'question',
  kind: 'elicitation',
  session: asks.session_id,
  call: asks.call_id,
  batch: asks.batch_id,
  digest: asks.question,
  tool: asks.tool_name,
  arguments: {},
  reasons: [],
  dueAtMs: asks.due_at_ms ?? null,
  preview: null,
  asked: asks.asked,
  answer: (answer) => answerAction(client, asks, answer),
});

async function previewOf(client: EngineClient, action: RequiredAction): Promise<QuestionPreview | null> {
  const preview = action.kind === 'agent.tool_use' ? action.preview : undefined;
  if (preview === undefined || !('digest' in preview)) return null;
  const { digest, diff, files } = preview;
  return { digest, diff: await wholeText(client, diff).catch(() => null), files: files.map(({ path }) => path) };
}

/** No such call waits for a person: it was answered, was cancelled, or has other arguments. */
export class NotWaiting extends Error {
  override readonly name = 'NotWaiting';
  /** The call that was to be answered. */
  readonly address: QuestionAddress;

  constructor(address: QuestionAddress) {
    super(
      `call "${address.call}" of session ${address.session} waits for no answer to this question: list those that wait with waiting()`,
    );
    this.address = address;
  }
}

/** Answers a question that was shown. Throws a {@link NotWaiting} when it waits no more, whatever else waits now. */
export async function answerQuestion(client: EngineClient, address: QuestionAddress, answer: Answer): Promise<void> {
  const { state } = await must(client.session(mustBe(decode(SessionIdCodec, address.session))));
  const { call, batch, digest } = address;
  const action = personEffects(state).find(
    (effect) => effect.call_id === call && effect.batch_id === batch && aboutOf(effect) === digest,
  );
  if (action === undefined) {
    throw new NotWaiting(address);
  }
  await answerAction(client, action, answer);
}

/** The digest of what a question is about. */
const aboutOf = (effect: PersonEffect): Digest =>
  effect.kind === 'agent.elicitation' ? effect.question : effect.arguments_digest;

/** Answers a question as the state holds it. */
async function answerAction(client: EngineClient, action: PersonEffect, answer: Answer): Promise<void> {
  const event = await answerEvent(client, action, answer);
  await must(client.submit(action.session_id, { events: [event] }));
}

/** Answers a question unless it waits no more. Resolves with whether it was answered. */
export async function answerIfWaiting(client: EngineClient, action: PersonEffect, answer: Answer): Promise<boolean> {
  try {
    await answerAction(client, action, answer);
    return true;
  } catch (error) {
    const { state } = await must(client.session(action.session_id));
    if (personEffects(state).some(({ effect_id }) => effect_id === action.effect_id)) throw error;
    return false;
  }
}

async function answerEvent(client: EngineClient, action: PersonEffect, answer: Answer): Promise<Ingress> {
  if (action.kind === 'agent.elicitation') return elicitationEvent(action, answer);
  const { batch_id, call_id, arguments_digest } = action;
  const said = typeof answer === 'boolean' ? spelledOut(answer) : answer;
  if ('action' in said) throw new TypeError('the question is about a call: answer with allow, or with a text');
  const address = { batch_id, call_id, arguments_digest, ...(said.by === undefined ? {} : { by: said.by }) };
  if ('text' in said) {
    const { success = true, data } = said;
    const result = { success, ...(success ? {} : { needsFollowup: true }), ...(data === undefined ? {} : { data }) };
    return { kind: 'user.custom_tool_result', ...address, result, output: await storeText(client, said.text) };
  }
  if (said.allow) {
    const grant = said.grant === undefined ? {} : { grant: said.grant };
    const preview = said.preview === undefined ? {} : { preview: mustBe(decode(Digest, said.preview)) };
    return { kind: 'user.tool_confirmation', ...address, result: 'allow', ...grant, ...preview };
  }
  const { message, instead } = said;
  return {
    kind: 'user.tool_confirmation',
    ...address,
    result: 'deny',
    ...(message === undefined ? {} : { message: message.toWellFormed().slice(0, 1_024) }),
    ...(instead === undefined ? {} : { instead: replacement(action, instead) }),
  };
}

function elicitationEvent({ batch_id, call_id, attempt, question }: Elicitation, answer: Answer): Ingress {
  const said = typeof answer === 'boolean' ? ({ action: answer ? 'accept' : 'decline' } as const) : answer;
  if (!('action' in said)) throw new TypeError('the call asks: answer with an action, and the content of an accept');
  const { action, content, by } = said;
  return {
    kind: 'user.elicitation_result',
    batch_id,
    call_id,
    attempt,
    question,
    action,
    ...(content === undefined ? {} : { content }),
    ...(by === undefined ? {} : { by }),
  };
}

const spelledOut = (allow: boolean): Exclude<Answer, boolean> => (allow ? { allow } : { allow });

/** The id of a call has at most 128 characters. */
const replacement = ({ call_id, tool_name }: RequiredAction, args: JsonObject) => ({
  call_id: brand<'CallId'>(`${call_id.slice(0, 120)}-edited`),
  tool_name,
  arguments: args,
});
