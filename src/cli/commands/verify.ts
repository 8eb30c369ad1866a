// `refold verify`: checks every digest, chain value, blob and snapshot of one or more streams.
import pc from 'picocolors';
import { brand } from '../../../schemas/ids.ts';
import { InvariantError } from '../../../schemas/rejection.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { type Replayer, newReplayer } from '../../core/replay.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output, failureOf } from '../output.ts';
import { type BlobsChecked, newBlobCheck } from '../audit/blob-check.ts';
import { openCheckpoint } from '../audit/checkpoint-check.ts';
import { type ComparedWith, newComparison } from '../audit/comparisons.ts';
import { reportFindings } from '../audit/journal-findings.ts';
import { type SnapshotsChecked, newSnapshotCheck } from '../audit/snapshot-check.ts';
import { type Source, sessionSource, withSources } from '../audit/source.ts';
import { type Fault, type Verdict, report, summarise } from '../audit/verdict.ts';

export interface VerifyCommand {
  /** Session ids and paths of exported streams. */
  readonly sources: readonly string[];
  /** Also every session of the data directory. */
  readonly all: boolean;
  /** A checkpoint to compare with, and the trusted public key. */
  readonly checkpoint?: string;
  readonly publicKey?: string;
  readonly dataDir: string;
}

export async function verifyCommand(command: VerifyCommand, output: Output): Promise<number> {
  const { all, dataDir, checkpoint: kept, publicKey } = command;
  refuseNoSources(command);
  const checkpoint = kept === undefined ? null : await openCheckpoint(kept, publicKey, output);
  const sources = command.sources.length === 0 && !all ? (checkpoint?.sessions ?? []) : command.sources;
  const startedAt = performance.now();
  const verdicts: Verdict[] = [];
  const verify = async (found: readonly Source[]): Promise<void> => {
    for (const source of found) {
      const verdict = await verifySource(source, { siblings: found, checkpoint, dataDir }, output);
      verdicts.push(verdict);
      report(verdict, output);
    }
  };
  await withSources(sources, dataDir, verify);
  if (all) {
    await withEngine(dataDir, async (client) => {
      const stored = (await must(client.sessions())).map(({ session_id }) => session_id);
      // Every session that was signed for must exist.
      const wanted = new Set([...stored, ...(checkpoint?.unseen() ?? [])]);
      await verify([...wanted].map((id) => sessionSource(client, id)));
    });
  }
  const ofData = all || verdicts.some(({ snapshots }) => snapshots !== null);
  const gone = ofData ? await reportFindings(dataDir, output) : 0;
  const unseen = checkpoint?.unseen().length ?? 0;
  if (unseen > 0) output.line(pc.dim(`${unseen} sessions of the checkpoint were not checked. To check all: --all`));
  // Missing sessions count only with --all: a named session that is missing is a fault already.
  return summarise(verdicts, { gone: all ? gone : 0, elapsedMs: since(startedAt) }, output);
}

/** Refuses a command that names nothing: an empty check would succeed. */
function refuseNoSources({ all, sources, checkpoint }: VerifyCommand): void {
  // A checkpoint names the sessions itself.
  if (checkpoint !== undefined || sources.length > 0 || all) return;
  throw new CommandFailure('invalid_shape', 'name sessions or exported files, or give --all for every session');
}

const PROGRESS_EVERY = 10_000;

async function verifySource(
  source: Source,
  against: ComparedWith & { readonly dataDir: string },
  output: Output,
): Promise<Verdict> {
  const startedAt = performance.now();
  const replayer = newReplayer();
  const beside = await checksBeside(source, against.dataDir);
  const comparison = newComparison(source, against);
  const add = (record: StreamRecord): void => {
    beside?.add(record, replayer);
    comparison.add(record);
  };
  const { broken, unreadable } = await foldSource(source, { replayer, add }, output);
  const { state, stateDigest, chain, events, divergence } = replayer.result();
  const whole = broken === null && unreadable === null;
  const { blobs, snapshots } = (await beside?.finish(state, whole)) ?? NOTHING_BESIDE;
  const gone = unreadable?.code === 'unknown_session';
  const compared = await comparison.finish({ events, whole: whole && divergence === null, gone });
  // A session that was signed for and does not exist is a fault, not unreadable.
  const missing = gone ? compared.fault : null;
  const fault = broken ?? divergence ?? compared.fault ?? firstOf(blobs, snapshots);
  return {
    source: source.name,
    sessionId: state?.session_id ?? null,
    events,
    chain,
    stateDigest,
    blobs,
    snapshots,
    compared,
    fault: unreadable === null ? fault : missing,
    unreadable: missing === null ? unreadable : null,
    elapsedMs: since(startedAt),
  };
}

interface Folding {
  readonly replayer: Replayer;
  /** Called with each record that verified. */
  readonly add: (record: StreamRecord) => void;
}

/** Folds a source as far as it verifies; returns what stopped it. */
async function foldSource(
  source: Source,
  { replayer, add }: Folding,
  output: Output,
): Promise<{ readonly broken: Fault | null; readonly unreadable: CommandFailure | null }> {
  const startedAt = performance.now();
  let folded = 0;
  try {
    for await (const record of source.records()) {
      const broken = addSafely(replayer, record, folded - 1);
      if (broken !== null) return { broken, unreadable: null };
      folded += 1;
      add(record);
      if (folded % PROGRESS_EVERY === 0) output.note(`${source.name}: ${folded} events, ${rate(folded, startedAt)}/s`);
    }
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    if (!isAboutTheStream(failure)) return { broken: null, unreadable: failure };
    const position = lostFrom(failure.message) ?? folded - 1;
    return { broken: { position, what: 'record', message: failure.message }, unreadable: null };
  } finally {
    output.note('');
  }
  return { broken: null, unreadable: null };
}

/** The first position that a damaged stream lost. The journal returns nothing of such a stream, so the fold cannot tell. */
function lostFrom(message: string): number | null {
  const [, first] = /^session \S+, positions? (?:from )?(-?\d+)/.exec(message) ?? [];
  return first === undefined ? null : Number(first);
}

interface ChecksBeside {
  add(record: StreamRecord, replayer: Replayer): void;
  finish(state: SessionState | null, whole: boolean): Promise<Pick<Verdict, 'blobs' | 'snapshots'>>;
}

const NOTHING_BESIDE = { blobs: null, snapshots: null };

/** Checks what a data directory keeps beside a stream; null for a file. */
async function checksBeside({ client, name }: Source, dataDir: string): Promise<ChecksBeside | null> {
  if (client === null) return null;
  const blobs = newBlobCheck(client);
  const snapshots = await newSnapshotCheck(dataDir, brand(name));
  return {
    add(record, replayer) {
      if (record.kind !== 'event') return;
      blobs.add(record);
      if (snapshots.wants(record.position + 1)) snapshots.add(replayer.result());
    },
    finish: async (state, whole) => ({ blobs: await blobs.finish(state), snapshots: snapshots.finish(whole) }),
  };
}

/** The fault of this record, or null. A tampered record may hold an event that admission would refuse. */
function addSafely(replayer: Replayer, record: StreamRecord, position: number): Fault | null {
  try {
    return replayer.add(record) ? null : replayer.result().divergence;
  } catch (error) {
    const why = error instanceof InvariantError ? `: ${error.message}` : '';
    return { position, what: 'event', message: `the event cannot be folded${why}` };
  }
}

/** The first fault of blobs and snapshots, for a stream that itself verifies. */
function firstOf(blobs: BlobsChecked | null, snapshots: SnapshotsChecked | null): Fault | null {
  const [blob] = blobs?.bad ?? [];
  const [snapshot] = snapshots?.bad ?? [];
  // The position of a snapshot is that of the last event it covers.
  if (snapshot !== undefined && (blob === undefined || snapshot.version - 1 < blob.position)) {
    const { version, message } = snapshot;
    return { position: version - 1, what: 'snapshot', message: `the snapshot at version ${version}: ${message}` };
  }
  return blob === undefined
    ? null
    : { position: blob.position, what: 'blob', message: `${blob.message} (${blob.path})` };
}

// Every other failure (no such session, file or engine) is about the source, not the stream.
const isAboutTheStream = ({ code, exitCode }: CommandFailure): boolean => exitCode === 1 || code === 'damaged';

const since = (startedAt: number): number => Math.max(1, Math.round(performance.now() - startedAt));
const rate = (events: number, startedAt: number): number => Math.round(events / (since(startedAt) / 1000));
