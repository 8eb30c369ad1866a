// `refold verify`: checks every digest, chain value, blob and snapshot of one or more streams, and with `--laws` whether the
// record keeps the laws that a log alone can show.
import { paint } from '../../shown/paint.ts';
import { type SessionId, brand } from '../../../schemas/ids.ts';
import { type StreamRecord, eventsIn, versionAfter } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { newLawCheck } from '../../core/law-check.ts';
import { type Replayer, newReplayer } from '../../core/replay.ts';
import { withEngine } from '../with-engine.ts';
import { allSessions } from '../../client/all-sessions.ts';
import { CommandFailure, type Output, commandFailureOf } from '../output.ts';
import { type BlobsChecked, newBlobCheck } from '../../client/watch/blob-check.ts';
import { openCheckpoint } from '../audit/checkpoint-check.ts';
import { type ComparedWith, newComparison } from '../audit/comparisons.ts';
import { reportFindings } from '../audit/journal-findings.ts';
import { type SnapshotsChecked, newSnapshotCheck } from '../audit/snapshot-check.ts';
import { type Source, sessionSource, whyNotFolded, withSources } from '../audit/source.ts';
import {
  BREACH,
  type Fault,
  type LawsChecked,
  type Verdict,
  report,
  reportDeleted,
  summarise,
} from '../audit/verdict.ts';

export interface VerifyCommand {
  /** Session ids and paths of exported streams. */
  readonly sources: readonly string[];
  /** Also every session of the data directory. */
  readonly all: boolean;
  /** Also judge each stream by the laws on record. */
  readonly laws: boolean;
  /** A checkpoint to compare with, and the trusted public key. */
  readonly checkpoint?: string;
  readonly publicKey?: string;
  readonly dataDir: string;
}

export const verifyCommand = async (command: VerifyCommand, output: Output): Promise<number> =>
  (await verifySources(command, output)).code;

export interface Verified {
  readonly code: number;
  /** The streams that are bad; null when something else is wrong too, so that they do not say all of it. */
  readonly bad: readonly string[] | null;
}

export async function verifySources(command: VerifyCommand, output: Output): Promise<Verified> {
  const { all, laws, dataDir, checkpoint: kept, publicKey } = command;
  refuseNoSources(command);
  const checkpoint = kept === undefined ? null : await openCheckpoint(kept, publicKey, output);
  const sources =
    command.sources.length === 0 && !all ? (checkpoint?.sessions ?? []).map((id) => `session:${id}`) : command.sources;
  const startedAt = performance.now();
  const verdicts: Verdict[] = [];
  const verify = async (found: readonly Source[], mayBeDeleted: ReadonlySet<string> = new Set()): Promise<void> => {
    for (const source of found) {
      const verdict = await verifySource(source, { siblings: found, checkpoint, dataDir, laws }, output);
      if (verdict.unreadable?.code === 'session_deleted' && mayBeDeleted.has(source.name)) {
        reportDeleted(source.name, output);
        continue;
      }
      verdicts.push(verdict);
      report(verdict, output);
    }
  };
  await withSources(sources, { dataDir, output }, (found) => verify(found));
  if (all) {
    await withEngine(
      dataDir,
      async (client) => {
        const wanted = new Set<SessionId>();
        for await (const { session_id } of allSessions(client)) wanted.add(session_id);
        // A running engine may delete one before its turn comes. Every session that was signed for must exist.
        const mayBeDeleted = new Set<string>(wanted);
        for (const id of checkpoint?.unseen() ?? []) {
          wanted.add(id);
          mayBeDeleted.delete(id);
        }
        await verify(
          [...wanted].map((id) => sessionSource(client, id)),
          mayBeDeleted,
        );
      },
      { everyTable: true },
    );
  }
  const ofData = all || verdicts.some(({ snapshots }) => snapshots !== null);
  const gone = ofData ? await reportFindings(dataDir, output) : 0;
  const unseen = checkpoint?.unseen().length ?? 0;
  if (unseen > 0) output.line(paint.dim(`${unseen} sessions of the checkpoint were not checked. To check all: --all`));
  // Missing sessions count only with --all: a named session that is missing is a fault already.
  const code = summarise(verdicts, { gone: all ? gone : 0, elapsedMs: since(startedAt) }, output);
  const isAll = gone === 0 && verdicts.every(({ unreadable }) => unreadable === null);
  const bad = verdicts.filter(({ fault }) => fault !== null).map(({ source }) => source);
  return { code, bad: isAll ? bad : null };
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
  against: ComparedWith & { readonly dataDir: string; readonly laws: boolean },
  output: Output,
): Promise<Verdict> {
  const startedAt = performance.now();
  const { replayer, judged } = newFold(against);
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
  const laws = judged();
  const fault = broken ?? divergence ?? compared.fault ?? firstOf(blobs, snapshots) ?? breachIn(laws);
  return {
    source: source.name,
    kind: source.kind,
    sessionId: state?.session_id ?? null,
    events,
    chain,
    stateDigest,
    blobs,
    snapshots,
    laws,
    compared,
    fault: unreadable === null ? fault : missing,
    unreadable: missing === null ? unreadable : null,
    elapsedMs: since(startedAt),
  };
}

interface Fold {
  readonly replayer: Replayer;
  /** What the record shows about the laws so far; null when that was not asked for. */
  readonly judged: () => LawsChecked | null;
}

function newFold({ laws }: { readonly laws: boolean }): Fold {
  if (!laws) return { replayer: newReplayer(), judged: () => null };
  const check = newLawCheck();
  // The law names what was measured wrong, with every other breach.
  const replayer = newReplayer((folded) => check.add(folded), { asMeasured: true });
  return { replayer, judged: () => ({ breaches: check.breaches(), found: check.count() }) };
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
  let told = 0;
  try {
    for await (const record of source.records()) {
      const broken = addSafely(replayer, record);
      if (broken !== null) return { broken, unreadable: null };
      const { events } = replayer.result();
      add(record);
      if (events - told >= PROGRESS_EVERY) {
        told = events;
        output.note(`${source.name}: ${events} events, ${rate(events, startedAt)}/s`);
      }
    }
  } catch (error) {
    const failure = commandFailureOf(error);
    if (failure === null) throw error;
    if (!isAboutTheStream(failure)) return { broken: null, unreadable: failure };
    const position = lostFrom(failure.message) ?? endOf(replayer);
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
      if (record.kind !== 'commit') return;
      for (const recorded of eventsIn(record)) blobs.add(recorded);
      if (snapshots.wants(versionAfter(record))) snapshots.add(replayer.result());
    },
    finish: async (state, whole) => ({ blobs: await blobs.finish(state), snapshots: snapshots.finish(whole) }),
  };
}

/** The fault of this record, or null. A tampered record may hold an event that admission would refuse. */
function addSafely(replayer: Replayer, record: StreamRecord): Fault | null {
  try {
    return replayer.add(record) ? null : replayer.result().divergence;
  } catch (error) {
    const message = `an event of this commit cannot be folded${whyNotFolded(error)}`;
    return { position: endOf(replayer), what: 'event', message };
  }
}

/** The position after what was folded; -1 before the genesis record. */
function endOf(replayer: Replayer): number {
  const { state, events } = replayer.result();
  return state === null ? -1 : events;
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

/** The first breach of a law, for a stream that itself verifies. */
function breachIn(laws: LawsChecked | null): Fault | null {
  const [first] = laws?.breaches ?? [];
  return first === undefined ? null : { position: first.position, what: BREACH, message: first.message };
}

// Every other failure (no such session, file or engine) is about the source, not the stream.
const isAboutTheStream = ({ code, exitCode }: CommandFailure): boolean => exitCode === 1 || code === 'damaged';

const since = (startedAt: number): number => Math.max(1, Math.round(performance.now() - startedAt));
const rate = (events: number, startedAt: number): number => Math.round(events / (since(startedAt) / 1000));
