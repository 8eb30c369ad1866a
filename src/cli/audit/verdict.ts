// The verdict of `refold verify` on one stream, and its report.
import { paint } from '../../shown/paint.ts';
import type { LawBreach } from '../../core/laws/breach.ts';
import type { CommandFailure, Output } from '../output.ts';
import { visible } from '../../shown/visible.ts';
import type { BlobsChecked } from '../../client/watch/blob-check.ts';
import { type Compared, comparedLines, comparedObject } from './comparisons.ts';
import type { SnapshotsChecked } from './snapshot-check.ts';
import { sourceTitle } from './source.ts';

/** The first fault of a stream. Position -1 is the genesis record. */
export interface Fault {
  readonly position: number;
  readonly what: string;
  readonly message: string;
  readonly recorded?: string;
  readonly replayed?: string;
}

export interface Verdict {
  /** The id of the session, or the path of the file. */
  readonly source: string;
  readonly kind: 'session' | 'file';
  readonly sessionId: string | null;
  readonly events: number;
  readonly chain: string | null;
  readonly stateDigest: string | null;
  /** Null for a file: an export contains no blobs. */
  readonly blobs: BlobsChecked | null;
  /** Null for a file: an export contains no snapshots. */
  readonly snapshots: SnapshotsChecked | null;
  /** Null when the laws were not asked for. */
  readonly laws: LawsChecked | null;
  readonly compared: Compared;
  readonly fault: Fault | null;
  /** Why the stream could not be read; then it has no verdict. */
  readonly unreadable: CommandFailure | null;
  readonly elapsedMs: number;
}

/** What the fault of a stream is whose digests are right and that breaks a law; its breaches are listed beside it. */
export const BREACH = 'law';

/** What the record shows about the laws (docs/design.md, "Laws on record"). */
export interface LawsChecked {
  /** The first breaches. */
  readonly breaches: readonly LawBreach[];
  /** All breaches. */
  readonly found: number;
}

export function report(verdict: Verdict, output: Output): void {
  const { source, sessionId, events, chain, stateDigest, blobs, snapshots, compared, fault, unreadable, elapsedMs } =
    verdict;
  const { laws } = verdict;
  output.object({
    source,
    source_kind: verdict.kind,
    session_id: sessionId,
    verified: fault === null && unreadable === null,
    events,
    state_digest: stateDigest,
    chain,
    blobs,
    snapshots,
    ...(laws === null ? {} : { laws }),
    ...comparedObject(compared),
    ...(fault === null ? {} : { fault }),
    ...(unreadable === null ? {} : { error: { code: unreadable.code, message: unreadable.message } }),
    elapsed_ms: elapsedMs,
    events_per_s: Math.round((events * 1000) / elapsedMs),
  });
  if (unreadable !== null) {
    output.line(`${paint.yellow('unreadable')}  ${verdict.kind} ${source}: ${unreadable.message}`);
    return;
  }
  const ofSnapshots = snapshots === null || snapshots.checked === 0 ? '' : `, ${snapshots.checked} snapshots`;
  const beside = blobs === null ? '' : `, ${blobs.checked} blobs${absentOf(blobs)}${ofSnapshots}`;
  const judged = laws?.found === 0 ? ', laws kept' : '';
  const checked = `${sourceTitle({ kind: verdict.kind, name: source }, sessionId)}  ${events} events${beside}${judged}`;
  const speed = paint.dim(`in ${elapsedMs} ms${blobs === null ? '; blobs not checked: a file contains none' : ''}`);
  if (fault === null) {
    output.line(`${paint.green('verified')}    ${checked} ${speed}`);
    output.line(paint.dim(`            chain ${chain ?? 'none'}`));
    for (const line of comparedLines(compared, events)) output.line(`            ${line}`);
    return;
  }
  output.line(`${paint.red('bad')}         ${checked} ${speed}`);
  reportFault(fault, verdict, output);
}

/** A session that was deleted after it was listed: there is nothing left to verify. */
export function reportDeleted(source: string, output: Output): void {
  output.object({ source, deleted: true });
  output.line(`${paint.dim('deleted')}     ${source}: it was deleted while others were verified`);
}

/** Responses are evidence: a crash may lose them, and they may be collected. */
const absentOf = ({ absent }: BlobsChecked): string => (absent === 0 ? '' : ` (${absent} responses absent)`);

function reportFault(fault: Fault, { blobs, snapshots, laws }: Verdict, output: Output): void {
  if (fault.what !== BREACH) {
    output.line(`            ${paint.red(`position ${fault.position}`)}: ${fault.message} (${fault.what})`);
  }
  if (fault.recorded !== undefined) {
    output.line(`            recorded ${fault.recorded}`);
    output.line(`            replayed ${fault.replayed ?? 'none'}`);
  }
  for (const { version, message } of snapshots?.bad ?? []) {
    output.line(`            snapshot at version ${version}: ${message}`);
  }
  if (laws !== null) reportBreaches(laws, output);
  for (const { position, path, message } of blobs?.bad.slice(0, BAD_BLOBS_SHOWN) ?? []) {
    output.line(`            blob, position ${position} ${path}: ${message}`);
  }
}

/** Each breach, with both positions. */
function reportBreaches({ breaches, found }: LawsChecked, output: Output): void {
  for (const { law, position, against, message } of breaches.slice(0, BREACHES_SHOWN)) {
    const where = `position ${position}, against ${against < 0 ? 'the genesis record' : `position ${against}`}`;
    output.line(`            ${paint.red(where)}: ${visible(message)} (law ${law})`);
  }
  const more = found - Math.min(breaches.length, BREACHES_SHOWN);
  if (more > 0) output.line(`            and ${more} further breaches; --json lists the first ${breaches.length}`);
}

const BAD_BLOBS_SHOWN = 20;
const BREACHES_SHOWN = 20;

interface Totals {
  /** The number of places where sessions may be gone without a trace. */
  readonly gone: number;
  readonly elapsedMs: number;
}

export function summarise(verdicts: readonly Verdict[], { gone, elapsedMs }: Totals, output: Output): number {
  const bad = verdicts.filter(({ fault }) => fault !== null).length;
  const unreadable = verdicts.filter((verdict) => verdict.unreadable !== null).length;
  const events = verdicts.reduce((sum, verdict) => sum + verdict.events, 0);
  const streams = verdicts.length;
  const lost = gone === 0 ? {} : { gone };
  output.object({ summary: { streams, verified: streams - bad - unreadable, bad, unreadable, events, ...lost } });
  const ofStreams =
    bad + unreadable === 0 ? paint.green('all verified') : paint.red(`${bad} bad, ${unreadable} unreadable`);
  const found = gone === 0 ? ofStreams : `${ofStreams}, ${paint.red('and sessions may be gone')}`;
  output.line(`${streams} stream${streams === 1 ? '' : 's'}, ${events} events in ${elapsedMs} ms: ${found}`);
  return bad + gone > 0 ? 1 : unreadable > 0 ? 2 : 0;
}
