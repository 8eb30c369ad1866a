// `refold replay`: folds a recorded session again and compares every digest with the recorded one.
import { existsSync } from 'node:fs';
import pc from 'picocolors';
import type { SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { type Replay, newReplayer } from '../../core/replay.ts';
import { stateDigest } from '../../core/state-digest.ts';
import { withEngine } from '../with-engine.ts';
import { CommandFailure, type Output } from '../output.ts';
import { sessionIdOf } from '../audit/source.ts';
import { readSession, readStreamFile } from '../stream-file.ts';

export interface ReplayCommand {
  /** A session id, or the path of an exported stream. */
  readonly source: string;
  /** How many events to fold; all of them when absent. */
  readonly at?: number;
  readonly dataDir: string;
}

export async function replayCommand({ source, at, dataDir }: ReplayCommand, output: Output): Promise<number> {
  const startedAt = performance.now();
  const replayed = existsSync(source)
    ? await replayRecords(readStreamFile(source), at, output)
    : await replaySession(sessionIdOf(source), { at, dataDir }, output);
  if (replayed.divergence === null && at !== undefined && replayed.events < at) {
    const message = `${source} has only ${replayed.events} events, so it has no state after ${at}`;
    throw new CommandFailure('invalid_shape', message);
  }
  report(replayed, Math.max(1, Math.round(performance.now() - startedAt)), output);
  return replayed.divergence === null ? 0 : 1;
}

const replaySession = (
  id: SessionId,
  { at, dataDir }: { readonly at: number | undefined; readonly dataDir: string },
  output: Output,
): Promise<ReplayedAt> => withEngine(dataDir, (client) => replayRecords(readSession(client, id), at, output));

const PROGRESS_EVERY = 10_000;

/** A replay of the first events. */
interface ReplayedAt extends Replay {
  /** The commit that goes on beyond them, which has no chain value there; null at the end of a commit. */
  readonly inside: { readonly first: number; readonly last: number } | null;
}

/** Folds whole commits up to the one that contains the last of the wanted events. */
async function replayRecords(
  records: AsyncIterable<StreamRecord>,
  at: number | undefined,
  output: Output,
): Promise<ReplayedAt> {
  let stateAt: SessionState | null = null;
  const replayer = newReplayer(({ position, after }) => {
    if (position + 1 === at) stateAt = after;
  });
  const startedAt = performance.now();
  let told = 0;
  let inside: ReplayedAt['inside'] = null;
  for await (const record of records) {
    if (!replayer.add(record)) break;
    const { events, state } = replayer.result();
    if (at !== undefined && record.kind === 'commit' && events > at && record.position < at) {
      inside = { first: record.position, last: events - 1 };
    }
    if (at !== undefined && state !== null && events >= at) break;
    if (events - told < PROGRESS_EVERY) continue;
    told = events;
    output.note(`${events} events, ${Math.round(events / ((performance.now() - startedAt) / 1000))}/s`);
  }
  output.note('');
  const whole = { ...replayer.result(), inside };
  // Assigned in a callback, which control flow analysis does not see.
  const state = stateAt as SessionState | null;
  if (inside === null || state === null) return whole;
  return { ...whole, state, stateDigest: stateDigest(state), chain: null, events: state.version };
}

function report(
  { state, stateDigest: digest, chain, events, inside, divergence }: ReplayedAt,
  elapsedMs: number,
  output: Output,
): void {
  const { position, commit, what, message, recorded, replayed } = divergence ?? {};
  output.object({
    replay: divergence === null ? 'byte-identical' : 'diverged',
    session_id: state?.session_id ?? null,
    events,
    state_digest: digest,
    chain,
    ...(inside === null ? {} : { inside_commit: inside }),
    elapsed_ms: elapsedMs,
    ...(divergence === null ? {} : { divergence: { position, commit, what, message, recorded, replayed } }),
  });
  output.line(`session  ${state?.session_id ?? 'none'}`);
  output.line(`events   ${events} ${pc.dim(`in ${elapsedMs} ms`)}`);
  output.line(`state    ${digest ?? 'none'}`);
  output.line(
    inside === null
      ? `chain    ${chain ?? 'none'}`
      : `chain    none here: events ${inside.first} to ${inside.last} are one commit; the state digest is worked out`,
  );
  if (divergence === null) {
    output.line(`replay   ${pc.green('byte-identical')}`);
    return;
  }
  output.line(`replay   ${pc.red(`diverges at position ${position}`)}: ${message} (${what})`);
  if (recorded !== undefined) output.line(`  recorded ${recorded}\n  replayed ${replayed}`);
}
