// Shows at a terminal the end of what the model is writing, in one line that the next event replaces.
import type { DeltaFrame } from '../../schemas/wire.ts';
import type { Output } from './output.ts';
import { visible } from '../shown/visible.ts';

export interface WritingNote {
  readonly update: (frame: DeltaFrame) => void;
  /** Clears the line. */
  readonly end: () => void;
}

export function newWritingNote(output: Output): WritingNote {
  let tail = '';
  return {
    update({ turn, parts, retract }) {
      if (retract === true) tail = '';
      const written = parts.map(({ text }) => text).join('');
      tail = (tail + written).slice(-KEPT_CHARS);
      const columns = Math.max(MIN_COLUMNS, (output.stdout.columns ?? COLUMNS) - RESERVED);
      const line = visible(tail.replaceAll(/\s+/g, ' ').toWellFormed());
      output.note(line === '' ? '' : `turn ${turn} … ${line.slice(-columns).toWellFormed()}`);
    },
    end() {
      if (tail !== '') output.note('');
      tail = '';
    },
  };
}

const KEPT_CHARS = 512;
const COLUMNS = 80;
const MIN_COLUMNS = 20;
/** For the words before the text. */
const RESERVED = 14;
