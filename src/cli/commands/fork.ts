// `refold fork`: a new session that begins with the first events of another session.
import { paint } from '../../shown/paint.ts';
import { callStateOf } from '../../../reducers/batch-index.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { type StreamEvent, type StreamRecord, eventsIn } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { RecordedEvent } from '../../../schemas/upcast.ts';
import type { SessionView } from '../../../schemas/wire.ts';
import type { EngineClient } from '../../client/client.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import type { Output } from '../output.ts';
import { readSession } from '../stream-file.ts';

export interface ForkCommand {
  readonly source: SessionId;
  /** The number of events to share; all when absent. */
  readonly at?: number;
  readonly to?: SessionId;
  readonly run: 'pause' | 'go' | 'end';
  readonly dataDir: string;
}

export function forkCommand({ source, at, to, run, dataDir }: ForkCommand, output: Output): Promise<number> {
  return withEngine(dataDir, async (client) => {
    const request = {
      run,
      ...(at === undefined ? {} : { at }),
      ...(to === undefined ? {} : { session_id: to }),
    };
    const { session_id } = await must(client.fork(source, request));
    const forked = await readFork(client, session_id);
    report(forked, output);
    return 0;
  });
}

interface Fork {
  readonly view: SessionView;
  readonly from: NonNullable<Extract<StreamRecord, { kind: 'genesis' }>['genesis']['forked_from']>;
  readonly facts: readonly StreamEvent[];
}

/** The fork as stored: read back, not assumed. */
async function readFork(client: EngineClient, id: SessionId): Promise<Fork> {
  const first = await must(client.records(id, undefined, 1));
  const from = first.flatMap((record) => (record.kind === 'genesis' ? [record.genesis.forked_from] : []))[0];
  if (from === undefined) throw new Error(`the genesis record of ${id} names no source`);
  const facts: StreamEvent[] = [];
  for await (const record of readSession(client, id, from.position)) {
    if (record.kind !== 'commit') continue;
    facts.push(...eventsIn(record).filter(({ position }) => position >= from.position));
  }
  return { view: await must(client.session(id)), from, facts };
}

function report({ view: { state, state_digest, chain }, from, facts }: Fork, output: Output): void {
  const { session_id, version, run } = state;
  output.object({ session_id, version, forked_from: from, facts, state_digest, chain, phase: run?.phase ?? 'idle' });
  output.line(`${paint.bold(session_id)}  forked from ${from.session_id} after ${from.position} events`);
  output.line(`source   ${paint.dim(`chain ${from.chain}`)}`);
  output.line(`chain    ${chain}`);
  if (facts.length === 0) {
    output.line(`added    nothing: ${run === null ? 'no run was active there' : 'the run is as it was there'}`);
  }
  for (const { position, event } of facts) {
    output.line(`added    position ${position}  ${event.kind}${describeFact(event, state)}`);
  }
  output.line(`now      ${run === null ? 'idle' : `${run.run_id} ${run.phase}, turn ${run.turn}`}`);
  for (const line of nextLines(session_id, run?.phase ?? 'idle')) output.line(line);
}

function describeFact(event: RecordedEvent, { active_tool_batch: batch }: SessionState): string {
  if (event.kind === 'LeaseExpired') {
    const now = batch === null ? 'ended' : (callStateOf(batch, event.call_id)?.status ?? 'ended');
    return `  ${event.call_id}: the source’s bridge runs it, not this session’s; here it is ${now}`;
  }
  if (event.kind === 'ToolCallSettled') {
    return `  ${event.call_id}: not run here, because it must not run twice; the model is informed`;
  }
  if (event.kind === 'user.custom_tool_result') {
    return `  ${event.call_id}: not asked for here, because it was allowed in the source; the model is informed`;
  }
  if (event.kind === 'user.elicitation_result') {
    return `  ${event.call_id}: what it asks is withdrawn, because its attempt goes on in the source only`;
  }
  if (event.kind === 'ConsentPolicySet') return '  the same policy: the grants of the source end here';
  if (event.kind === 'UndoSettled')
    return `  ${event.call_id}: not undone here, because the source was asked to undo it`;
  return '';
}

function nextLines(id: SessionId, phase: string): readonly string[] {
  if (phase === 'idle') return [`next     refold run "..." --session ${id}`];
  if (!phase.startsWith('paused_')) return ['next     a bridge can run it: refold bridge'];
  return [`next     refold resume ${id}, or fork again with --run end to end the run`];
}
