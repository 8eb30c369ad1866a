// Calls of a loop that keeps its own history, found on record: by the ids of the session, or by those that the loop made itself.
import type { CallResult } from '../../src/core/index.ts';
import { type BroughtCall, givenCall, recordedOf } from './bound-call.ts';
import { loopIdOf } from './call-ids.ts';
import { hasEnded } from './left-calls.ts';
import { callKey } from './logged-run.ts';
import type { LoopSession } from './loop-session.ts';

/**
 * The id by which the recorded turn names each call; null for a call that the record has not. A call with an id of the loop's own
 * is the same one when its tool and its arguments are, too; when a call of that id has not ended, it is that one in any case,
 * and is refused later if it differs.
 */
export function recordedIds(loop: LoopSession, calls: readonly BroughtCall[]): readonly (string | null)[] {
  const run = loop.log.run();
  const all = run?.calls() ?? [];
  const replaced = new Set(all.flatMap((one) => run?.replacement(one) ?? []).map(callKey));
  // What a person gave in place of a call, the loop does not know.
  const made = all.filter((one) => !replaced.has(callKey(one))).toReversed();
  const taken = new Set<CallResult>();
  return calls.map((brought) => {
    const given = givenCall(brought);
    const named = made.filter((one) => !taken.has(one) && isNamed(loop, one, brought.id));
    const same = named.filter((one) => {
      const { tool, arguments: text } = recordedOf(loop, one);
      return loopIdOf(one.call) === brought.id || (tool === given.tool && text === given.arguments);
    });
    const [latest] = same;
    // Of equal calls in one turn, each is meant once, in their order.
    const found = same.findLast(({ turn }) => turn === latest?.turn) ?? named.find((one) => !hasEnded(one));
    if (found === undefined) return null;
    taken.add(found);
    return loopIdOf(found.call);
  });
}

const isNamed = (loop: LoopSession, made: CallResult, id: string): boolean =>
  loopIdOf(made.call) === id || recordedOf(loop, made).provider_id === id;
