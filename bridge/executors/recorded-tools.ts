// Answers calls from a recorded log instead of running them: for tests of agents, and for gates in CI.
import type { SessionId } from '../../schemas/ids.ts';
import { digestJson } from '../../schemas/canonical.ts';
import { type CallReport, failedReport } from './call-report.ts';
import type { Executor } from './executors.ts';
import { type ReadBlob, answerKey, readAnswers } from './recorded-answers.ts';

/**
 * What answers a call that the log does not hold:
 * - `fail`: the call fails with the code `not_recorded`;
 * - `ask`: this function, once for each tool and arguments; its report then counts as recorded;
 * - `run`: another executor, each time.
 */
export type NotRecorded =
  | 'fail'
  | {
      /** Answers a call that the log does not hold. */
      readonly ask: (...call: Parameters<Executor['run']>) => Promise<CallReport>;
    }
  | {
      /** Runs each call that the log does not hold. */
      readonly run: Executor;
    };

export interface RecordedToolsOptions {
  /** The tools to answer: ids, exact or ending in `*`. By default those with an answer in the log, and those of `run`. */
  readonly tools?: readonly string[];
  /** By default `fail`. */
  readonly missing?: NotRecorded;
  /** Reads the outputs of more than 4,096 UTF-16 units, which an export only refers to. Without it they are not held. */
  readonly readBlob?: ReadBlob;
}

/**
 * An executor that answers from an export of a session (`refold export`), by tool id and the digest of the arguments. It
 * runs nothing. The same call, made again in a session, gets the recorded answers in their order, then the last one again.
 *
 * An answer is what its call was settled with by report: success, text, code, data, completion and the facts about the host
 * session, but for the time at which that expires. `host.session.open` answers with the recorded session, as a call and as an
 * effect. Not in the log are: calls that were cancelled, denied, rejected or lost; changes of files; and, without
 * `readBlob`, outputs in blobs.
 *
 * Throws an Error when the file cannot be read, exceeds 64 MiB, or does not fold as recorded.
 */
export async function recordedTools(
  file: string,
  { tools, missing = 'fail', readBlob }: RecordedToolsOptions = {},
): Promise<Executor> {
  const { tools: recorded, answers } = await readAnswers(file, readBlob);
  const runner = missing !== 'fail' && 'run' in missing ? missing.run : null;
  const asked = new Map<string, Promise<CallReport>>();
  /** How often each session has made each call. */
  const made = new Map<SessionId, Map<string, number>>();

  /** The next recorded answer for the session; null when there is none. */
  function nextAnswer(session: SessionId, key: string): CallReport | null {
    const known = answers.get(key);
    if (known === undefined) return null;
    const counts = made.get(session) ?? new Map<string, number>();
    made.set(session, counts);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return known[Math.min(count, known.length - 1)] ?? null;
  }

  return {
    ...(runner?.resumes === true ? { resumes: true as const } : {}),
    tools: tools ?? [...new Set([...recorded, ...(runner?.tools ?? [])])],
    async run(call, args, context) {
      const key = answerKey(call.tool_id, digestJson(args));
      const known = nextAnswer(call.session_id, key);
      if (known !== null) return known;
      if (runner !== null) return await runner.run(call, args, context);
      if (missing === 'fail' || !('ask' in missing)) {
        return failedReport('not_recorded', `the log has no answer of "${call.tool_id}" to these arguments`);
      }
      const answer = asked.get(key) ?? missing.ask(call, args, context);
      asked.set(key, answer);
      return await answer;
    },
  };
}
