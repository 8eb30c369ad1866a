// Recorded sessions of agents through the fold, with their results in reversed order, interrupts, steers and model changes:
// each request on the way is one that every API takes.
import { ToolName } from '../../schemas/ids.ts';
import { INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import { type Random, randomFrom } from '../../src/testing/random.ts';
import { packageOf } from '../../src/testing/facts.ts';
import { toObservedCalls } from '../../bridge/generate/observed-calls.ts';
import type { ReplyCall } from '../../bridge/providers/provider.ts';
import { type Session, call, say, session } from '../support/session.ts';
import { tool } from '../support/tools.ts';
import { type Line, filesBelow, linesOf } from './corpus-files.ts';
import { anyLayout } from './layouts.ts';
import { MODELS, checkRequests } from './requests.ts';
import type { Section, Tally } from './tally.ts';
import { runSteps } from '../../src/core/steps.ts';

export const sessions: Section = {
  name: 'sessions',
  async check(corpora, tally, progress) {
    const paths = ['unified/sessions.jsonl', ...filesBelow(corpora, 'tau-bench').filter((path) => path.endsWith('l'))];
    let lines = 0;
    for (const path of paths) {
      for (const line of linesOf(corpora, path)) {
        lines += 1;
        progress(line.place);
        await checkLine(line, path, lines, tally);
      }
    }
    return lines > 0;
  },
};

/** What a person said, or a turn of the model with the results of its calls, by their place among the calls. */
type Turn =
  | { readonly kind: 'user'; readonly text: string }
  | {
      readonly kind: 'assistant';
      readonly text: string;
      readonly calls: readonly ReplyCall[];
      readonly results: readonly Result[];
    };

interface Result {
  readonly text: string;
  readonly success: boolean;
}

async function checkLine({ place, text }: Line, path: string, seed: number, tally: Tally): Promise<void> {
  const random = randomFrom(seed);
  const turns = turnsOf(JSON.parse(text));
  try {
    const start = sessionFor(turns);
    const folded = turns.reduce((now, turn) => withTurn(now, turn, random), start);
    const { requests, shortened, faults } = await checkRequests(start.state, folded.events, new Map(), random);
    tally.count('sessions');
    tally.count(`sessions: ${path}`);
    tally.count('events', folded.events.length);
    tally.count('requests', requests);
    tally.count('requests: of shortened windows', shortened);
    for (const fault of faults) tally.fail(place, fault);
  } catch (error) {
    tally.fail(place, error instanceof Error ? error.message : String(error));
  }
}

// The corpora have no types of their own.
type Any = any; // oxlint-disable-line typescript/no-explicit-any

/** A session of `unified`, or the messages of a trajectory. */
function turnsOf(line: Any): readonly Turn[] {
  if (Array.isArray(line.turns)) return line.turns.map(unifiedTurn);
  return (line.messages as Any[]).flatMap((message: Any, index: number, all: Any[]): readonly Turn[] => {
    if (message.role === 'user') return [{ kind: 'user', text: message.content ?? '' }];
    if (message.role !== 'assistant') return [];
    const calls = (message.tool_calls ?? []) as Any[];
    const results = calls.map(({ id }: Any) => all.slice(index).find((each) => each.tool_call_id === id));
    return [
      {
        kind: 'assistant',
        text: message.content ?? '',
        calls: calls.map(({ id, function: { name, arguments: written } }: Any) => ({
          id,
          name,
          arguments_text: written,
        })),
        results: results.map((result: Any) => ({ text: result?.content ?? '', success: result !== undefined })),
      },
    ];
  });
}

function unifiedTurn({ kind, content, text_bytes, calls = [], results = [] }: Any): Turn {
  if (kind === 'user') return { kind: 'user', text: content ?? '' };
  return {
    kind: 'assistant',
    // The corpus keeps the length of these texts only.
    text: 'x'.repeat(Math.min(text_bytes ?? 0, 2_000)),
    calls: calls.map(({ id, name, args }: Any) => ({ ...(id ? { id } : {}), name, arguments: args ?? {} })),
    results: calls.map((_: Any, index: number) => ({
      text: results[index]?.content ?? '',
      success: results[index] !== undefined && results[index].is_error !== true,
    })),
  };
}

/** A session that offers every tool that is called. */
function sessionFor(turns: readonly Turn[]): Session {
  const called = turns.flatMap((turn) => (turn.kind === 'assistant' ? turn.calls.map(({ name }) => name) : []));
  const names = [...new Set(called)].filter((name) => ToolName.is(name));
  return session({
    tool_package: packageOf(names.map((name) => tool(name, { parallelism_hint: { parallel_safe: true } }))),
  });
}

function withTurn(before: Session, turn: Turn, random: Random): Session {
  const now = turn.kind === 'user' || before.state.run === null ? withInput(before, turn, random) : before;
  return turn.kind === 'user' ? now : withReply(now, turn, random);
}

/** A new run, or a steer of the one that waits for the model. */
function withInput(now: Session, { text }: Turn, random: Random): Session {
  const input = say(text === '' ? 'go on' : text);
  if (isWaiting(now)) return now.takes('RunSteered', { run_id: now.runId(), input });
  const model = random.pick(random.pick(Object.values(MODELS)));
  const context = random.oneIn(3) ? { context: { mark: 500 } } : {};
  return settled(now.takes('RunRequested', { input, run_overrides: { model, turns_max: 200, ...context } }), random);
}

const isWaiting = (now: Session): boolean => now.effectsOf('llm.generate').length > 0;

function withReply(
  before: Session,
  { text, calls, results }: Extract<Turn, { kind: 'assistant' }>,
  random: Random,
): Session {
  const waiting = isWaiting(before) ? before : withInput(before, { kind: 'user', text: '' }, random);
  if (!isWaiting(waiting)) throw new Error(`no generate is owed in the phase ${waiting.phase()}`);
  const observed = runSteps(toObservedCalls(waiting.state.run?.turn ?? 1, calls)).map(
    ({ call_id, tool_name, arguments: args, provider_call_id }) =>
      call(call_id, tool_name, args ?? {}, provider_call_id === undefined ? {} : { provider_call_id }),
  );
  const layout = anyLayout(random, text, calls.length);
  const now = waiting.observed(observed, {
    ...(text === '' ? {} : { content: say(text) }),
    ...(layout === null ? {} : { layout }),
    usage: { input_tokens: 100 + random.below(900), output_tokens: 10 },
  });
  if (random.oneIn(20) && now.effectsOf('tool.call').length > 0) return settled(now.interrupted(), random);
  return settled(now, random, new Map(observed.map(({ call_id }, index) => [call_id, results[index]])));
}

/** Settles what is owed, the last call first, until the model or a person is asked. */
function settled(from: Session, random: Random, results: ReadonlyMap<string, Result | undefined> = new Map()): Session {
  let now = from;
  for (let step = 0; step < 1_000; step += 1) {
    const call_id = now.effectsOf('tool.call').at(-1)?.call_id;
    const cancelled = now.effectsOf('tool.cancel').at(-1)?.call_id;
    if (cancelled !== undefined) now = now.settled(cancelled, { outcome: 'cancelled' });
    else if (call_id !== undefined) {
      const { text = '', success = false } = results.get(call_id) ?? {};
      now = now.settled(call_id, { success, output: text.slice(0, INLINE_CHARS_MAX) });
    } else if (now.effectsOf('batch.settle').length > 0) now = now.batchSettled();
    else if (now.effectsOf('llm.compact').length > 0) {
      now = random.oneIn(4) ? now.compactFailed() : now.compacted('What was said so far.');
    } else return now;
  }
  throw new Error('the session does not come to rest');
}
