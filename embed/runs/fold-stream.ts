// A stream as it grows, folded: each event with the states around it, and between the events what the model writes.
import { type CommitRecord, type DeltaFrame, type SessionId, type SessionState, upcast } from '../../schemas/index.ts';
import { type EngineClient, must, mustBe } from '../../src/client/index.ts';
import { type FoldedEvent, foldEvent, newReplayer } from '../../src/core/index.ts';

type Fold = (commit: CommitRecord) => readonly FoldedEvent[];

export interface FoldStart {
  /** A state of the session to fold on from; null: from its first event. */
  readonly from: SessionState | null;
  /** How many events were on record: what an earlier process wrote. Every digest up to there is checked. */
  readonly version: number;
}

export async function* foldStream(
  client: EngineClient,
  session: SessionId,
  { from, version }: FoldStart,
  signal: AbortSignal,
): AsyncGenerator<FoldedEvent | DeltaFrame, void> {
  const fold = from === null ? await foldFromStart(client, session, version) : foldOn(from);
  for await (const record of client.followLive(session, { from: from?.version ?? 0, signal })) {
    if (record.kind === 'delta') yield record;
    else yield* fold(record);
  }
}

function foldOn(from: SessionState): Fold {
  let before = from;
  return ({ position, events }) =>
    events.map((recorded, index) => {
      const { state: after, sealed } = mustBe(foldEvent(before, recorded));
      const at = (position + index) as FoldedEvent['position'];
      const folded = { position: at, event: upcast(recorded), before, after, sealed };
      before = after;
      return folded;
    });
}

async function foldFromStart(client: EngineClient, session: SessionId, version: number): Promise<Fold> {
  const folded: FoldedEvent[] = [];
  const replayer = newReplayer((event) => folded.push(event));
  for (const record of await must(client.records(session, undefined, 1))) {
    if (record.kind !== 'commit') replayer.add(record);
  }
  let live: Fold | null = null;
  return (commit) => {
    const { state } = live === null && commit.position >= version ? replayer.result() : { state: null };
    if (state !== null) live = foldOn(state);
    if (live !== null) return live(commit);
    if (replayer.add(commit)) return folded.splice(0);
    const why = replayer.result().divergence?.message ?? '';
    throw new Error(`the stream of ${session} does not fold as recorded: ${why}. See: refold verify ${session}`);
  };
}
