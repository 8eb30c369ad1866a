// `refold replay`: folds a recorded session again and compares every digest with the recorded one.
import { paint } from '../../shown/paint.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { type Replay, newReplayer } from '../../core/replay.ts';
import { stateDigest } from '../../core/state-digest.ts';
import { CommandFailure, type Output } from '../output.ts';
import { type Source, withSources } from '../audit/source.ts';

export interface ReplayCommand {
  /** A session id, or the path of an exported stream. */
  readonly source: string;
  /** How many events to fold; all of them when absent. */
  readonly at?: number;
  readonly dataDir: string;
}

export async function replayCommand({ source, at, dataDir }: ReplayCommand, output: Output): Promise<number> {
  const startedAt = performance.now();
  return await withSources([source], { dataDir, output }, async ([found]) => {
    const replayed = await replayRecords((found as Source).records(), at, output);
    refuseShort(replayed, { at, name: (found as Source).name });
    report(
      replayed,
      { source: found as Source, elapsedMs: Math.max(1, Math.round(performance.now() - startedAt)) },
      output,
    );
    return replayed.divergence === null ? 0 : 1;
  });
}

function refuseShort(
  { divergence, events }: ReplayedAt,
  { at, name }: { readonly at: number | undefined; readonly name: string },
): void {
  if (divergence !== null || at === undefined || events >= at) return;
  throw new CommandFailure('invalid_shape', `${name} has only ${events} events, so it has no state after ${at}`);
}

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
  { source, elapsedMs }: { readonly source: Source; readonly elapsedMs: number },
  output: Output,
): void {
  const { position, commit, what, message, recorded, replayed } = divergence ?? {};
  output.object({
    replay: divergence === null ? 'byte-identical' : 'diverged',
    source: source.name,
    source_kind: source.kind,
    session_id: state?.session_id ?? null,
    events,
    state_digest: digest,
    chain,
    ...(inside === null ? {} : { inside_commit: inside }),
    elapsed_ms: elapsedMs,
    ...(divergence === null ? {} : { divergence: { position, commit, what, message, recorded, replayed } }),
  });
  if (source.kind === 'file') output.line(`file     ${source.name}`);
  output.line(`session  ${state?.session_id ?? 'none'}`);
  output.line(`events   ${events} ${paint.dim(`in ${elapsedMs} ms`)}`);
  output.line(`state    ${digest ?? 'none'}`);
  output.line(
    inside === null
      ? `chain    ${chain ?? 'none'}`
      : `chain    none here: events ${inside.first} to ${inside.last} are one commit; the state digest is worked out`,
  );
  if (divergence === null) {
    output.line(`replay   ${paint.green('byte-identical')}`);
    return;
  }
  output.line(`replay   ${paint.red(`diverges at position ${position}`)}: ${message} (${what})`);
  if (recorded === undefined) return;
  output.line(`  recorded ${recorded}`);
  output.line(`  replayed ${replayed}`);
}
