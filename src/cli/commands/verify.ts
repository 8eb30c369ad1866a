// `refold verify`: every digest, every chain value and every blob of one or many streams.
import pc from 'picocolors';
import { InvariantError } from '../../../schemas/rejection.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { type Replayer, newReplayer } from '../../core/replay.ts';
import { withEngine } from '../data-dir.ts';
import { CommandFailure, type Output, must } from '../output.ts';
import { type BlobsChecked, newBlobCheck } from './audit-blobs.ts';
import { type Source, sessionSource, withSources } from './audit-source.ts';

export interface VerifyCommand {
  /** Session ids and paths of exported streams. */
  readonly sources: readonly string[];
  /** Every session of the data directory besides. */
  readonly all: boolean;
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
  readonly fault: Fault | null;
  /** The stream could not be read at all, which says nothing about it. */
  readonly unreadable: CommandFailure | null;
  readonly elapsedMs: number;
}

export async function verifyCommand({ sources, all, dataDir }: VerifyCommand, output: Output): Promise<number> {
  if (sources.length === 0 && !all) {
    throw new CommandFailure('invalid_shape', 'name sessions or exported files, or give --all for every session');
  }
  const startedAt = performance.now();
  const verdicts: Verdict[] = [];
  const verify = async (found: readonly Source[]): Promise<void> => {
    for (const source of found) {
      const verdict = await verifySource(source, output);
      verdicts.push(verdict);
      report(verdict, output);
    }
  };
  await withSources(sources, dataDir, verify);
  if (all) {
    await withEngine(dataDir, async (client) => {
      const sessions = await must(client.sessions());
      await verify(sessions.map(({ session_id }) => sessionSource(client, session_id)));
    });
  }
  return summarise(verdicts, since(startedAt), output);
}

const PROGRESS_EVERY = 10_000;

async function verifySource(source: Source, output: Output): Promise<Verdict> {
  const startedAt = performance.now();
  const replayer = newReplayer();
  const blobCheck = source.client === null ? null : newBlobCheck(source.client);
  let broken: Fault | null = null;
  let unreadable: CommandFailure | null = null;
  let folded = 0;
  try {
    for await (const record of source.records()) {
      broken = addSafely(replayer, record, folded - 1);
      if (broken !== null) break;
      folded += 1;
      if (record.kind === 'event') blobCheck?.add(record);
      if (folded % PROGRESS_EVERY === 0) output.note(`${source.name}: ${folded} events, ${rate(folded, startedAt)}/s`);
    }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    if (isAboutTheStream(error)) broken = { position: folded - 1, what: 'record', message: error.message };
    else unreadable = error;
  }
  output.note('');
  const { state, stateDigest, chain, events, divergence } = replayer.result();
  const blobs = (await blobCheck?.finish(state)) ?? null;
  return {
    source: source.name,
    sessionId: state?.session_id ?? null,
    events,
    chain,
    stateDigest,
    blobs,
    fault: unreadable === null ? (broken ?? firstOf(divergence, blobs)) : null,
    unreadable,
    elapsedMs: since(startedAt),
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

const firstOf = (divergence: Fault | null, blobs: BlobsChecked | null): Fault | null => {
  const [blob] = blobs?.bad ?? [];
  if (divergence !== null || blob === undefined) return divergence;
  return { position: blob.position, what: 'blob', message: `${blob.message} (${blob.path})` };
};

// Everything else (no such session, no such file, no engine) is about where the stream should have come from.
const isAboutTheStream = ({ code, exitCode }: CommandFailure): boolean => exitCode === 1 || code === 'damaged';

const since = (startedAt: number): number => Math.max(1, Math.round(performance.now() - startedAt));
const rate = (events: number, startedAt: number): number => Math.round(events / (since(startedAt) / 1000));

function report(verdict: Verdict, output: Output): void {
  const { source, sessionId, events, chain, stateDigest, blobs, fault, unreadable, elapsedMs } = verdict;
  output.object({
    source,
    session_id: sessionId,
    verified: fault === null && unreadable === null,
    events,
    state_digest: stateDigest,
    chain,
    blobs,
    ...(fault === null ? {} : { fault }),
    ...(unreadable === null ? {} : { error: { code: unreadable.code, message: unreadable.message } }),
    elapsed_ms: elapsedMs,
    events_per_s: Math.round((events * 1000) / elapsedMs),
  });
  if (unreadable !== null) {
    output.line(`${pc.yellow('unreadable')}  ${source}: ${unreadable.message}`);
    return;
  }
  const told = `${source}  ${events} events${blobs === null ? '' : `, ${blobs.checked} blobs`}`;
  const speed = pc.dim(`in ${elapsedMs} ms${blobs === null ? '; blobs not checked: a file holds none' : ''}`);
  if (fault === null) {
    output.line(`${pc.green('verified')}    ${told} ${speed}`);
    output.line(pc.dim(`            chain ${chain ?? 'none'}`));
    return;
  }
  output.line(`${pc.red('bad')}         ${told} ${speed}`);
  output.line(`            ${pc.red(`position ${fault.position}`)}: ${fault.message} (${fault.what})`);
  if (fault.recorded !== undefined) {
    output.line(`            recorded ${fault.recorded}\n            replayed ${fault.replayed ?? 'none'}`);
  }
  for (const { position, path, message } of blobs?.bad.slice(0, BAD_BLOBS_SHOWN) ?? []) {
    output.line(`            blob, position ${position} ${path}: ${message}`);
  }
}

const BAD_BLOBS_SHOWN = 20;

function summarise(verdicts: readonly Verdict[], elapsedMs: number, output: Output): number {
  const bad = verdicts.filter(({ fault }) => fault !== null).length;
  const unreadable = verdicts.filter((verdict) => verdict.unreadable !== null).length;
  const events = verdicts.reduce((sum, verdict) => sum + verdict.events, 0);
  const streams = verdicts.length;
  output.object({ summary: { streams, verified: streams - bad - unreadable, bad, unreadable, events } });
  const found = bad + unreadable === 0 ? pc.green('all verified') : pc.red(`${bad} bad, ${unreadable} unreadable`);
  output.line(`${streams} streams, ${events} events in ${elapsedMs} ms: ${found}`);
  return bad > 0 ? 1 : unreadable > 0 ? 2 : 0;
}
