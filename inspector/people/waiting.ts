// The questions, custom calls and questions of calls that wait in all sessions of an engine. A session is read again only when it has new events,
// so that asking often costs the list alone.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { SessionSummary } from '../../schemas/wire.ts';
import { allSessions } from '../../src/client/all-sessions.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { storedArguments, storedText } from '../../src/client/stored-arguments.ts';
import { type PersonEffect, type RequiredAction, personEffects, questionDigest } from '../../src/core/index.ts';
import { describeGrant } from '../../src/shown/describe-grant.ts';
import { type PreviewLine, readDiff } from '../../src/shown/diff-lines.ts';
import { questionFields } from '../../src/shown/question-fields.ts';
import type { DiffLine, Question, QuestionAboutCall, QuestionPreview, Waiting, WaitingName } from '../protocol.ts';

/** Sessions whose questions are read at once; those of further ones come when these are answered. */
const SESSIONS_READ_MAX = 200;

export interface WaitingCalls {
  read(): Promise<Waiting>;
  /** What waits in one session; null when it cannot be read. */
  namesIn(summary: SessionSummary): Promise<readonly WaitingName[] | null>;
  /** The question that was shown, and how many events its session had then. */
  shown(digest: Digest): Asked | undefined;
}

export interface Asked {
  readonly action: PersonEffect;
  readonly version: number;
}

interface Read {
  readonly version: number;
  readonly questions: readonly Question[];
}

export function newWaitingCalls(client: Pick<EngineClient, 'session' | 'sessions' | 'getBlob'>): WaitingCalls {
  const known = new Map<SessionId, Read>();
  const asked = new Map<Digest, Asked>();

  async function questionsIn({ session_id, version }: SessionSummary): Promise<readonly Question[] | string> {
    const before = known.get(session_id);
    if (before?.version === version) return before.questions;
    const view = await client.session(session_id)();
    if (isLeft(view)) return view.left.message;
    const { state } = view.right;
    const questions = await Promise.all(personEffects(state).map((action) => questionOf(client, action, state)));
    for (const { digest, action } of questions) asked.set(digest, { action, version: state.version });
    known.set(session_id, { version: state.version, questions });
    return questions;
  }

  return {
    shown: (digest) => asked.get(digest),
    async namesIn(summary) {
      if (summary.card.status !== 'requires_action') return [];
      const questions = await questionsIn(summary);
      return typeof questions === 'string' ? null : questions.map(({ action }) => nameOf(action));
    },
    async read() {
      const questions: Question[] = [];
      const unread: { session_id: SessionId; message: string }[] = [];
      let sessions = 0;
      for await (const summary of allSessions(client, { status: 'requires_action' })) {
        sessions += 1;
        if (sessions > SESSIONS_READ_MAX) break;
        const found = await questionsIn(summary);
        if (typeof found === 'string') unread.push({ session_id: summary.session_id, message: found });
        else questions.push(...found);
      }
      return { questions: questions.sort((a, b) => dueOf(a) - dueOf(b)), unread };
    },
  };
}

const dueOf = ({ action }: Question): number => action.due_at_ms ?? Infinity;

export const nameOf = ({ kind, call_id, tool_name, due_at_ms }: PersonEffect): WaitingName => ({
  kind,
  call_id,
  tool_name,
  due_at_ms: due_at_ms ?? null,
});

async function questionOf(
  client: Pick<EngineClient, 'getBlob'>,
  action: PersonEffect,
  state: SessionState,
): Promise<Question> {
  const title = state.title ?? null;
  if (action.kind !== 'agent.elicitation') return await questionAbout(client, action, title);
  return {
    kind: 'of_call',
    action,
    digest: questionDigest(action),
    title,
    fields: questionFields(action.asked.schema),
  };
}

async function questionAbout(
  client: Pick<EngineClient, 'getBlob'>,
  action: RequiredAction,
  title: string | null,
): Promise<QuestionAboutCall> {
  const stored = await storedArguments(client, action.arguments_ref);
  const args = action.arguments ?? stored ?? (action.arguments_ref === undefined ? {} : null);
  return {
    kind: 'about_call',
    action,
    digest: questionDigest(action),
    title,
    arguments: args,
    arguments_text: args === null ? '' : JSON.stringify(args, null, 2),
    grants: { session: describeGrant(action, {}), arguments: patternsIn(args ?? {}) },
    preview: await previewOf(client, action),
  };
}

async function previewOf(
  client: Pick<EngineClient, 'getBlob'>,
  action: RequiredAction,
): Promise<QuestionPreview | null> {
  if (action.kind !== 'agent.tool_use') return null;
  const { preview, preview_until_ms } = action;
  if (preview === undefined) return preview_until_ms === undefined ? null : { state: 'awaited' };
  if ('code' in preview) return { state: 'none', why: preview.message };
  const diff = await storedText(client, preview.diff);
  if (diff === null) return { state: 'none', why: 'it is stored and cannot be read' };
  return { state: 'shown', digest: preview.digest, lines: readDiff(diff).map(diffLineOf) };
}

/** A line of a preview, or of a definition, as the page draws it. */
export function diffLineOf({ mark, text }: PreviewLine): DiffLine {
  if (mark !== 'place') return { sign: SIGNS[mark], text };
  const [, place] = /^@@ (.*) @@$/.exec(text) ?? [];
  return place === undefined ? { sign: '»', text: text.replace(/^\\ /, '') } : { sign: '@', text: place };
}

const SIGNS = { '+': '+', '-': '-', ' ': ' ', '|': ' ', note: '»' } as const;

/** The arguments that a pattern may stand for: a text, or a list of words. */
const patternsIn = (args: JsonObject): readonly string[] =>
  Object.entries(args).flatMap(([name, value]) =>
    typeof value === 'string' || (Array.isArray(value) && value.every((word) => typeof word === 'string'))
      ? [name]
      : [],
  );

/** The state of a session as it is now. */
export const stateOf = async (client: Pick<EngineClient, 'session'>, id: SessionId): Promise<SessionState> =>
  (await must(client.session(id))).state;
