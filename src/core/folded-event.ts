// One event of a stream with the states around it: what the readers of a stream are given.
import type { SealedPage } from '../../reducers/transcript.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Position } from '../../schemas/ids.ts';
import type { SessionState } from '../../schemas/state.ts';

export interface FoldedEvent {
  readonly position: Position;
  /** In the current shape. */
  readonly event: IngressEvent;
  readonly before: SessionState;
  readonly after: SessionState;
  /** The transcript page that the event sealed; null when it sealed none. */
  readonly sealed: SealedPage | null;
}
