// `refold verify`: every digest, every chain value, every blob and every snapshot of one or many streams.
import pc from 'picocolors';
import { brand } from '../../../schemas/ids.ts';
import { InvariantError } from '../../../schemas/rejection.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { type Replayer, newReplayer } from '../../core/replay.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output, failureOf } from '../output.ts';
import { type BlobsChecked, newBlobCheck } from './audit-blobs.ts';
import { openCheckpoint } from './audit-checkpoint.ts';
import { reportFindings } from './audit-findings.ts';
import { type Against, type Held, heldLines, heldObject, newHeldCheck } from './audit-held.ts';
import { type SnapshotsChecked, newSnapshotCheck } from './audit-snapshots.ts';
import { type Source, sessionSource, withSources } from './audit-source.ts';

export interface VerifyCommand {
  /** Session ids and paths of exported streams. */
  readonly sources: readonly string[];
  /** Every session of the data directory besides. */
  readonly all: boolean;
  /** A checkpoint that was kept, and the public key that is trusted. */
  readonly checkpoint?: string;
  readonly publicKey?: string;
  readonly dataDir: string;
}

/** What is wrong at the first place where something is: -1 is the genesis record. */
interface Fault {
  readonly position: number;
  readonly what: string;
  readonly message: string;
  readonly recorded?: string;
  readonly replayed?: string;
}

interface Verdict {
  readonly source: string;
  readonly sessionId: string | null;
  readonly events: number;
  readonly chain: string | null;
  readonly stateDigest: string | null;
  /** Null for a file: an export holds no blobs. */
  readonly blobs: BlobsChecked | null;
  /** Null for a file: an export holds no snapshots either. */
  readonly snapshots: SnapshotsChecked | null;
  readonly held: Held;
  readonly fault: Fault | null;
  /** The stream could not be read at all, which says nothing about it. */
  readonly unreadable: CommandFailure | null;
  readonly elapsedMs: number;
}

export async function verifyCommand(command: VerifyCommand, output: Output): Promise<number> {
  const { all, dataDir, checkpoint: kept, publicKey } = command;
  refuseNothing(command);
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
      const there = (await must(client.sessions())).map(({ session_id }) => session_id);
      // A session that was signed for has to be there.
      const wanted = new Set([...there, ...(checkpoint?.unseen() ?? [])]);
      await verify([...wanted].map((id) => sessionSource(client, id)));
    });
  }
  const ofData = all || verdicts.some(({ snapshots }) => snapshots !== null);
  const gone = ofData ? await reportFindings(dataDir, output) : 0;
  const unseen = checkpoint?.unseen().length ?? 0;
  if (unseen > 0) output.line(pc.dim(`${unseen} sessions of the checkpoint were not looked at; --all looks at each`));
  // Sessions that were named are there or not; only of all of them may some be missing.
  return summarise(verdicts, { gone: all ? gone : 0, elapsedMs: since(startedAt) }, output);
}

/** Throws where there is nothing to verify: all of nothing is well. */
function refuseNothing({ all, sources, checkpoint }: VerifyCommand): void {
  // A checkpoint names what is to be there.
  if (checkpoint !== undefined || sources.length > 0 || all) return;
  throw new CommandFailure('invalid_shape', 'name sessions or exported files, or give --all for every session');
}

const PROGRESS_EVERY = 10_000;

async function verifySource(
  source: Source,
  against: Against & { readonly dataDir: string },
  output: Output,
): Promise<Verdict> {
  const startedAt = performance.now();
  const replayer = newReplayer();
  const beside = await checksBeside(source, against.dataDir);
  const holding = newHeldCheck(source, against);
  const add = (record: StreamRecord): void => {
    beside?.add(record, replayer);
    holding.add(record);
  };
  const { broken, unreadable } = await foldSource(source, { replayer, add }, output);
  const { state, stateDigest, chain, events, divergence } = replayer.result();
  const whole = broken === null && unreadable === null;
  const { blobs, snapshots } = (await beside?.finish(state, whole)) ?? NOTHING_BESIDE;
  const gone = unreadable?.code === 'unknown_session';
  const held = await holding.finish({ events, whole: whole && divergence === null, gone });
  // A session that was signed for and is not there is no question of reading.
  const missing = gone ? held.fault : null;
  const fault = broken ?? divergence ?? held.fault ?? firstOf(blobs, snapshots);
  return {
    source: source.name,
    sessionId: state?.session_id ?? null,
    events,
    chain,
    stateDigest,
    blobs,
    snapshots,
    held,
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

/** Folds a source as far as it verifies, and says what stopped it. */
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

/** Where what a stream lost begins. Nothing of such a stream is given out, so that the fold does not get there. */
function lostFrom(message: string): number | null {
  const [, first] = /^session \S+, positions? (?:from )?(-?\d+)/.exec(message) ?? [];
  return first === undefined ? null : Number(first);
}

interface ChecksBeside {
  add(record: StreamRecord, replayer: Replayer): void;
  finish(state: SessionState | null, whole: boolean): Promise<Pick<Verdict, 'blobs' | 'snapshots'>>;
}

const NOTHING_BESIDE = { blobs: null, snapshots: null };

/** What a data directory keeps beside a stream; null for a file. */
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

/** Why this record stops the stream, or null. A record that was tampered with may be one that nothing ever admitted. */
function addSafely(replayer: Replayer, record: StreamRecord, position: number): Fault | null {
  try {
    return replayer.add(record) ? null : replayer.result().divergence;
  } catch (error) {
    const why = error instanceof InvariantError ? `: ${error.message}` : '';
    return { position, what: 'event', message: `the event cannot be folded${why}` };
  }
}

/** The first fault beside a stream that is itself right. */
function firstOf(blobs: BlobsChecked | null, snapshots: SnapshotsChecked | null): Fault | null {
  const [blob] = blobs?.bad ?? [];
  const [snapshot] = snapshots?.bad ?? [];
  // A snapshot stands where the last event stands that it covers.
  if (snapshot !== undefined && (blob === undefined || snapshot.version - 1 < blob.position)) {
    const { version, message } = snapshot;
    return { position: version - 1, what: 'snapshot', message: `the snapshot at version ${version}: ${message}` };
  }
  return blob === undefined
    ? null
    : { position: blob.position, what: 'blob', message: `${blob.message} (${blob.path})` };
}

// Everything else (no such session, no such file, no engine) is about where the stream should have come from.
const isAboutTheStream = ({ code, exitCode }: CommandFailure): boolean => exitCode === 1 || code === 'damaged';

const since = (startedAt: number): number => Math.max(1, Math.round(performance.now() - startedAt));
const rate = (events: number, startedAt: number): number => Math.round(events / (since(startedAt) / 1000));

function report(verdict: Verdict, output: Output): void {
  const { source, sessionId, events, chain, stateDigest, blobs, snapshots, held, fault, unreadable, elapsedMs } =
    verdict;
  output.object({
    source,
    session_id: sessionId,
    verified: fault === null && unreadable === null,
    events,
    state_digest: stateDigest,
    chain,
    blobs,
    snapshots,
    ...heldObject(held),
    ...(fault === null ? {} : { fault }),
    ...(unreadable === null ? {} : { error: { code: unreadable.code, message: unreadable.message } }),
    elapsed_ms: elapsedMs,
    events_per_s: Math.round((events * 1000) / elapsedMs),
  });
  if (unreadable !== null) {
    output.line(`${pc.yellow('unreadable')}  ${source}: ${unreadable.message}`);
    return;
  }
  const hints = snapshots === null || snapshots.checked === 0 ? '' : `, ${snapshots.checked} snapshots`;
  const beside = blobs === null ? '' : `, ${blobs.checked} blobs${hints}`;
  const told = `${source}  ${events} events${beside}`;
  const speed = pc.dim(`in ${elapsedMs} ms${blobs === null ? '; blobs not checked: a file holds none' : ''}`);
  if (fault === null) {
    output.line(`${pc.green('verified')}    ${told} ${speed}`);
    output.line(pc.dim(`            chain ${chain ?? 'none'}`));
    for (const line of heldLines(held, events)) output.line(`            ${line}`);
    return;
  }
  output.line(`${pc.red('bad')}         ${told} ${speed}`);
  reportFault(fault, verdict, output);
}

function reportFault(fault: Fault, { blobs, snapshots }: Verdict, output: Output): void {
  output.line(`            ${pc.red(`position ${fault.position}`)}: ${fault.message} (${fault.what})`);
  if (fault.recorded !== undefined) {
    output.line(`            recorded ${fault.recorded}\n            replayed ${fault.replayed ?? 'none'}`);
  }
  for (const { version, message } of snapshots?.bad ?? []) {
    output.line(`            snapshot at version ${version}: ${message}`);
  }
  for (const { position, path, message } of blobs?.bad.slice(0, BAD_BLOBS_SHOWN) ?? []) {
    output.line(`            blob, position ${position} ${path}: ${message}`);
  }
}

const BAD_BLOBS_SHOWN = 20;

interface Beside {
  /** In how many places sessions may be gone without a trace. */
  readonly gone: number;
  readonly elapsedMs: number;
}

function summarise(verdicts: readonly Verdict[], { gone, elapsedMs }: Beside, output: Output): number {
  const bad = verdicts.filter(({ fault }) => fault !== null).length;
  const unreadable = verdicts.filter((verdict) => verdict.unreadable !== null).length;
  const events = verdicts.reduce((sum, verdict) => sum + verdict.events, 0);
  const streams = verdicts.length;
  const lost = gone === 0 ? {} : { gone };
  output.object({ summary: { streams, verified: streams - bad - unreadable, bad, unreadable, events, ...lost } });
  const ofStreams = bad + unreadable === 0 ? pc.green('all verified') : pc.red(`${bad} bad, ${unreadable} unreadable`);
  const found = gone === 0 ? ofStreams : `${ofStreams}, ${pc.red('and sessions may be gone')}`;
  output.line(`${streams} stream${streams === 1 ? '' : 's'}, ${events} events in ${elapsedMs} ms: ${found}`);
  return bad + gone > 0 ? 1 : unreadable > 0 ? 2 : 0;
}
