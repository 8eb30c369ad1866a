// A stream as it grows, folded: each event with the states around it, and between the events what the model writes.
import type { DeltaFrame, SessionId, SessionState, CommitRecord } from '../../schemas/index.ts';
import { type EngineClient, must, mustBe } from '../../src/client/index.ts';
import { type FoldedEvent, decodeEvent, newReplayer, step } from '../../src/core/index.ts';

type Fold = (commit: CommitRecord) => readonly FoldedEvent[];

/** Folds on from a state of the session; from its first event, with every digest checked, when that is null. */
export async function* foldStream(
  client: EngineClient,
  session: SessionId,
  from: SessionState | null,
  signal: AbortSignal,
): AsyncGenerator<FoldedEvent | DeltaFrame, void> {
  const fold = from === null ? await foldFromStart(client, session) : foldOn(from);
  for await (const record of client.followLive(session, { from: from?.version ?? 0, signal })) {
    if (record.kind === 'delta') yield record;
    else yield* fold(record);
  }
}

function foldOn(from: SessionState): Fold {
  let before = from;
  return ({ position, events }) =>
    events.map((recorded, index) => {
      const event = mustBe(decodeEvent(recorded));
      const { state: after, sealed } = mustBe(step(before, event));
      const folded = { position: (position + index) as FoldedEvent['position'], event, before, after, sealed };
      before = after;
      return folded;
    });
}

async function foldFromStart(client: EngineClient, session: SessionId): Promise<Fold> {
  const folded: FoldedEvent[] = [];
  const replayer = newReplayer((event) => folded.push(event));
  for (const record of await must(client.records(session, undefined, 1))) {
    if (record.kind !== 'commit') replayer.add(record);
  }
  return (commit) => {
    if (replayer.add(commit)) return folded.splice(0);
    const why = replayer.result().divergence?.message ?? '';
    throw new Error(`the stream of ${session} does not fold as recorded: ${why}. See: refold verify ${session}`);
  };
}
