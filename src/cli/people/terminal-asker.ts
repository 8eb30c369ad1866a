// Asks the person at the terminal about waiting actions, one at a time, while the run continues. The prompt is withdrawn
// when the action is answered elsewhere or no longer waits.
import { type Interface, createInterface } from 'node:readline/promises';
import { isLeft } from 'fp-ts/lib/Either.js';
import { paint, printable } from '../../shown/paint.ts';
import type { Ingress } from '../../../schemas/event.ts';
import type { EffectId } from '../../../schemas/ids.ts';
import { PREVIEW_SHOWN_WITHIN_MS } from '../../../schemas/limits.ts';
import { REJECTIONS } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { EngineClient } from '../../client/client.ts';
import {
  type Elicitation,
  type PersonEffect,
  type RequiredAction,
  personEffects,
  previewIn,
} from '../../core/status.ts';
import { visible } from '../../shown/visible.ts';
import { storeContent } from '../../client/store-content.ts';
import { allowing, denying, eliciting, fulfilling } from '../../core/answers.ts';
import { askQuestion } from './ask-question.ts';
import { describeAction, wholeArguments } from './describe-action.ts';
import { describeQuestion } from './describe-question.ts';
import { reasonOf } from '../../files/file-failure.ts';
import { readSeen } from './seen-action.ts';

export interface TerminalOptions {
  readonly client: EngineClient;
  readonly by: string;
  readonly readFile: (path: string) => string | null;
  readonly print: (line: string) => void;
  /** In milliseconds; that of the process when absent. */
  readonly now?: () => number;
  /** Where the person is; the terminal of this process when absent. */
  readonly terminal?: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream };
}

export interface Asker {
  /** Takes the new state of the session and asks about what waits now. */
  update(state: SessionState): void;
  close(): void;
}

export function newTerminalAsker({ client, by, readFile, print, now = Date.now, terminal }: TerminalOptions): Asker {
  const lines = openLines(terminal);
  let state: SessionState | null = null;
  let asking: { readonly id: EffectId; readonly withdrawn: AbortController } | null = null;
  let closed = false;
  const questions = newQuestions(lines, print, now);

  const pending = (): readonly PersonEffect[] => (state === null || closed ? [] : personEffects(state));
  const previews = newPreviewWait(pending);

  async function ask(effect: PersonEffect, withdrawn: AbortSignal): Promise<void> {
    const event = await (effect.kind === 'agent.elicitation'
      ? askForCall(effect, withdrawn)
      : askAbout(effect, withdrawn));
    const submitted = await client.submit(effect.session_id, { events: [event] })();
    if (!isLeft(submitted)) return;
    print(paint.yellow(`  ! ${visible(submitted.left.message)}. ${REJECTIONS[submitted.left.code]}`));
    // When the call does not wait any more, the next state withdraws the prompt.
    await ask(effect, withdrawn);
  }

  async function askAbout(first: RequiredAction, withdrawn: AbortSignal): Promise<Ingress> {
    const action = await previews.of(first);
    const seen = await readSeen(client, action);
    withdrawn.throwIfAborted();
    const others = pending().filter(({ effect_id }) => effect_id !== action.effect_id);
    describeAction(action, { readFile, ...seen, others }).forEach(print);
    const showAll = (): void => (wholeArguments(action, seen.storedArguments) ?? [UNREADABLE]).forEach(print);
    return await (action.kind === 'agent.tool_use'
      ? askConsent({ lines, questions, print, by }, action, showAll, withdrawn)
      : askWork(action, withdrawn));
  }

  /** What a call asks. */
  async function askForCall(question: Elicitation, signal: AbortSignal): Promise<Ingress> {
    describeQuestion(question).forEach(print);
    const answer = await askQuestion(question, { ask: (text) => questions.ask(text, signal), print });
    return eliciting(question, by, answer);
  }

  async function askWork(action: RequiredAction, signal: AbortSignal): Promise<Ingress> {
    const typed = await questions.ask('  your answer (the model reads it): ', signal);
    const stored = await storeContent(client, typed)();
    if (!isLeft(stored)) return fulfilling(action, by, { success: true, output: stored.right });
    print(paint.yellow(`  ! ${stored.left.message}. ${REJECTIONS[stored.left.code]}`));
    return await askWork(action, signal);
  }

  function next(): void {
    const [action] = asking === null ? pending() : [];
    if (action === undefined) return;
    const withdrawn = new AbortController();
    asking = { id: action.effect_id, withdrawn };
    ask(action, withdrawn.signal)
      .catch((error: unknown) => print(endOf(action, withdrawn.signal, error)))
      .finally(() => {
        asking = null;
        // The latest state may still contain the action just answered; the next event updates it.
        if (pending()[0]?.effect_id !== action.effect_id) next();
      });
  }

  return {
    update(latest) {
      state = latest;
      if (asking !== null && !pending().some((action) => action.effect_id === asking?.id)) {
        asking.withdrawn.abort();
        questions.withdrawn();
      }
      previews.changed();
      next();
    },
    close() {
      closed = true;
      asking?.withdrawn.abort();
      previews.changed();
      lines.close();
    },
  };
}

interface ConsentTerminal extends Pick<TerminalOptions, 'by' | 'print'> {
  readonly lines: Interface;
  readonly questions: Questions;
}

async function askConsent(
  { lines, questions, print, by }: ConsentTerminal,
  action: RequiredAction,
  showAll: () => void,
  signal: AbortSignal,
): Promise<Ingress> {
  // What was typed for a question that was withdrawn is no answer to this one.
  if (lines.terminal) lines.write(null, { ctrl: true, name: 'u' });
  for (;;) {
    const typed = await questions.ask(QUESTION, signal);
    // Whole words only: "stop" must not be taken for `s`.
    const word = typed.trim().toLowerCase();
    const preview = previewIn(action)?.digest;
    if (word === 'y' || word === 'yes') return allowing(action, by, undefined, preview);
    if (word === 's') return allowing(action, by, {}, preview);
    if (word === 'n' || word === 'no') {
      return denying(action, by, { message: await lines.question('  why (the model reads it): ', { signal }) });
    }
    if (word === 'v') showAll();
    else print('  please answer with y, s, v or n');
  }
}

interface PreviewWait {
  /** The action with its preview, if a bridge makes one soon. */
  of(action: RequiredAction): Promise<RequiredAction>;
  /** What waits may have changed. */
  changed(): void;
}

function newPreviewWait(pending: () => readonly PersonEffect[]): PreviewWait {
  let look: () => void = () => undefined;
  return {
    async of(action) {
      const now = (): RequiredAction | undefined =>
        pending().find((other): other is RequiredAction => other.effect_id === action.effect_id);
      const isAwaited = (): boolean => 'preview_until_ms' in (now() ?? {});
      if (isAwaited()) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, PREVIEW_SHOWN_WITHIN_MS);
          look = () => {
            if (isAwaited()) return;
            clearTimeout(timer);
            resolve();
          };
        });
      }
      look = () => undefined;
      return now() ?? action;
    },
    changed: () => look(),
  };
}

function openLines(terminal: TerminalOptions['terminal']): Interface {
  const lines = createInterface(terminal ?? { input: process.stdin, output: process.stdout });
  // readline intercepts Ctrl-C, so it is passed on to the process.
  lines.on('SIGINT', () => process.emit('SIGINT'));
  return lines;
}

interface Questions {
  /** The line that a person types after having seen the question. */
  ask(text: string, signal: AbortSignal): Promise<string>;
  /** A line that is on its way when a question is withdrawn comes to the next one. */
  withdrawn(): void;
}

function newQuestions(lines: Interface, print: (line: string) => void, now: () => number): Questions {
  let wasWithdrawn = false;
  return {
    withdrawn() {
      wasWithdrawn = true;
    },
    async ask(text, signal) {
      const since = wasWithdrawn ? now() : null;
      for (;;) {
        const typed = await lines.question(printable(text), { signal });
        wasWithdrawn = false;
        if (since === null || now() - since >= SEEN_AFTER_MS) return typed;
        print('  not taken: it came as the question before was withdrawn; please answer this one');
      }
    },
  };
}

/** A person reads a question for longer than this. */
const SEEN_AFTER_MS = 500;

/** Why a prompt ended without an answer. */
const endOf = ({ call_id }: PersonEffect, { aborted }: AbortSignal, error: unknown): string =>
  aborted
    ? paint.dim(`  ${call_id} no longer waits`)
    : paint.yellow(`  ! ${call_id} cannot be asked about here: ${reasonOf(error)}. It waits: refold approvals`);

const QUESTION = `  ${paint.bold('y')} allow   ${paint.bold('s')} allow this tool for the session   ${paint.bold('v')} view every argument   ${paint.bold('n')} deny: `;

const UNREADABLE = '  the arguments are stored and cannot be read';
