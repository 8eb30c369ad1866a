// The error of a reader that folds a stream itself, when the stream does not fold as it was recorded.
import type { SessionId } from '../../../schemas/ids.ts';
import type { Divergence } from '../../core/replay.ts';

/** The engine served a stream that does not fold as recorded; `divergence` is the first fault. */
export class StreamDiverged extends Error {
  override readonly name = 'StreamDiverged';
  /** The first fault of the stream. */
  readonly divergence: Divergence;

  constructor(session: SessionId, divergence: Divergence) {
    const { position, message } = divergence;
    super(
      `the stream of ${session} does not fold as recorded, position ${position}: ${message}. For details: refold verify ${session}`,
    );
    this.divergence = divergence;
  }
}
