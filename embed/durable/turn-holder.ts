// Whether another live process holds the turn that this one waits for. The engine knows it: the lease of the turn names its
// owner, and a live bridge has a request waiting there. The lease of a dead one ends by itself, so it is waited for.
import type { BridgeClock } from '../../bridge/index.ts';
import type { OwnerId, SessionId } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { effects } from '../../src/core/index.ts';

export interface HolderWatch {
  readonly client: EngineClient;
  readonly session: SessionId;
  /** The name of the bridge of this process. */
  readonly owner: OwnerId;
  readonly clock: BridgeClock;
}

/** A turn that is free is granted sooner, in milliseconds. Between two looks the time doubles. */
const FIRST_LOOK_MS = 50;
const LOOK_MS_MAX = 2_000;

/** Calls `found` once, with the owner that holds the turn; the returned function ends the watch. */
export function watchHolder(watch: HolderWatch, found: (holder: OwnerId) => void): () => void {
  let ended = false;
  let cancel = (): void => undefined;

  async function look(ms: number): Promise<void> {
    const holder = await otherHolder(watch);
    if (ended) return;
    if (holder !== null) found(holder);
    else lookAfter(Math.min(2 * ms, LOOK_MS_MAX));
  }

  function lookAfter(ms: number): void {
    cancel = watch.clock.after(ms, () => void look(ms));
  }

  lookAfter(FIRST_LOOK_MS);
  return () => {
    ended = true;
    cancel();
  };
}

/** Null also while the engine does not answer. */
async function otherHolder({ client, session, owner }: HolderWatch): Promise<OwnerId | null> {
  const view = await client
    .session(session)()
    .catch(() => null);
  if (view === null || view._tag === 'Left') return null;
  const { state, held_by = [] } = view.right;
  const turn = effects(state).find(({ kind }) => kind === 'llm.generate');
  const holder = held_by.find(({ effect_id }) => effect_id === turn?.effect_id);
  return holder?.connected === true && holder.owner !== owner ? holder.owner : null;
}
