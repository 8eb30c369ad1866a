// Makes an outcome safe to send: secrets replaced, text well formed, not empty, and not longer than the caller allows.
// When the text is cut, the whole goes to a file, unless the tool has already written one.
import { Buffer } from 'node:buffer';
import { characterStart, nextCharacter } from './exec/output-capture.ts';
import { OUTPUT_BYTES_MIN } from '../../schemas/limits.ts';
import type { HostOutcome } from './outcome.ts';
import { spillTo } from './spill.ts';
import type { HostParts } from './tool.ts';
import { fitChanges } from './undo/record-change.ts';

/** Reserved for the line that says how many bytes were left out. */
const NOTE_BYTES = 64;

export function fitOutcome(
  outcome: HostOutcome,
  outputBytesMax: number,
  { redactor, scratch }: Pick<HostParts, 'redactor' | 'scratch'>,
): HostOutcome {
  const text = redactor.text(outcome.text).toWellFormed() || '(no output)';
  const safe: HostOutcome = {
    ...outcome,
    text,
    ...(outcome.data === undefined ? {} : { data: redactor.value(outcome.data) }),
    ...(outcome.changes === undefined ? {} : { changes: fitChanges(outcome.changes, redactor) }),
  };
  const bytes = Buffer.from(text, 'utf8');
  const bytesMax = Math.max(outputBytesMax, OUTPUT_BYTES_MIN);
  if (bytes.length <= bytesMax) return safe;
  const spilled = outcome.spill === undefined ? spillTo(scratch.newSpillPath(), () => bytes) : {};
  return { ...safe, text: shorten(bytes, bytesMax), ...spilled };
}

function shorten(bytes: Buffer, bytesMax: number): string {
  const half = Math.floor((bytesMax - NOTE_BYTES) / 2);
  const end = characterStart(bytes, half);
  const start = nextCharacter(bytes, bytes.length - half);
  const head = bytes.toString('utf8', 0, end);
  return `${head}\n[… ${start - end} bytes left out …]\n${bytes.toString('utf8', start)}`;
}
