// `refold replay`: folds a recorded session again and compares every digest with the recorded one.
import { existsSync } from 'node:fs';
import pc from 'picocolors';
import type { SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { type Replay, newReplayer } from '../../core/replay.ts';
import { withEngine } from '../with-engine.ts';
import type { Output } from '../output.ts';
import { sessionIdOf } from '../audit/source.ts';
import { readSession, readStreamFile } from '../stream-file.ts';

export interface ReplayCommand {
  /** A session id, or the path of an exported stream. */
  readonly source: string;
  readonly dataDir: string;
}

export async function replayCommand({ source, dataDir }: ReplayCommand, output: Output): Promise<number> {
  const startedAt = performance.now();
  const result = existsSync(source)
    ? await replayRecords(readStreamFile(source), output)
    : await replaySession(sessionIdOf(source), dataDir, output);
  report(result, Math.max(1, Math.round(performance.now() - startedAt)), output);
  return result.divergence === null ? 0 : 1;
}

const replaySession = (id: SessionId, dataDir: string, output: Output): Promise<Replay> =>
  withEngine(dataDir, (client) => replayRecords(readSession(client, id), output));

const PROGRESS_EVERY = 10_000;

async function replayRecords(records: AsyncIterable<StreamRecord>, output: Output): Promise<Replay> {
  const replayer = newReplayer();
  const startedAt = performance.now();
  let folded = 0;
  for await (const record of records) {
    if (!replayer.add(record)) break;
    folded += 1;
    if (folded % PROGRESS_EVERY === 0) {
      const rate = Math.round(folded / ((performance.now() - startedAt) / 1000));
      output.note(`${folded} events, ${rate}/s`);
    }
  }
  output.note('');
  return replayer.result();
}

function report({ state, stateDigest, chain, events, divergence }: Replay, elapsedMs: number, output: Output): void {
  const { position, what, message, recorded, replayed } = divergence ?? {};
  output.object({
    replay: divergence === null ? 'byte-identical' : 'diverged',
    session_id: state?.session_id ?? null,
    events,
    state_digest: stateDigest,
    chain,
    elapsed_ms: elapsedMs,
    ...(divergence === null ? {} : { divergence: { position, what, message, recorded, replayed } }),
  });
  output.line(`session  ${state?.session_id ?? 'none'}`);
  output.line(`events   ${events} ${pc.dim(`in ${elapsedMs} ms`)}`);
  output.line(`state    ${stateDigest ?? 'none'}`);
  output.line(`chain    ${chain ?? 'none'}`);
  if (divergence === null) {
    output.line(`replay   ${pc.green('byte-identical')}`);
    return;
  }
  output.line(`replay   ${pc.red(`diverges at position ${position}`)}: ${message} (${what})`);
  if (recorded !== undefined) output.line(`  recorded ${recorded}\n  replayed ${replayed}`);
}
