// The ids of calls. A model's server chooses those of a provider, and may give one twice, so that they name nothing here: a loop
// knows a call by its place in the session, and the provider is sent its own ids.
import type { ToolCallObserved } from '../../schemas/index.ts';
import type { RecordedCall } from './turn.ts';

/** `turn` counts from 1 in its run, `index` from 0 in its turn. Within what every provider takes for an id. */
export const callIdOf = (run_id: string, turn: number, index: number): string => `${run_id}-${turn}-${index}`;

/** The id by which the loop knows a call. Turns that were recorded before refold made the ids have those of the provider. */
export const loopIdOf = ({
  call_id,
  provider_call_id,
}: Pick<ToolCallObserved, 'call_id' | 'provider_call_id'>): string => provider_call_id ?? call_id;

export interface ProviderIdIndex {
  readonly add: (calls: readonly RecordedCall[]) => void;
  /** The provider's id of a call; the given one when it is of no call here, or of one that is long past. */
  readonly providerId: (id: string) => string;
}

/** So many calls are known back; a provider takes any other id just as well when a call and its result have the same. */
const KNOWN_MAX = 65_536;

export function newProviderIdIndex(): ProviderIdIndex {
  const known = new Map<string, string>();
  return {
    add(calls) {
      for (const { id, provider_id } of calls) if (id !== provider_id) known.set(id, provider_id);
      for (const oldest of known.keys()) {
        if (known.size <= KNOWN_MAX) break;
        known.delete(oldest);
      }
    },
    providerId: (id) => known.get(id) ?? id,
  };
}
