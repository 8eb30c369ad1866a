// One line of a bridge's ledger: `<first 16 hex digits of its SHA-256> <JSON>`. Each line is verified separately, so a
// corrupt one (the torn end of a file, a flipped bit) invalidates no other.
import { isLeft } from 'fp-ts/lib/Either.js';
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import { type TypeOf, decode, tagged, variants } from '../../schemas/codec.ts';
import { Ingress } from '../../schemas/event.ts';
import { Digest, EffectId, OwnerId, SessionId } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { LEDGER_LINE_CHARS_MAX } from '../../schemas/limits.ts';
import { Epoch } from '../../schemas/wire.ts';

const call = { session_id: SessionId, effect_id: EffectId } as const;

export const LedgerLine = variants('LedgerLine', 'kind', {
  /** The first line: the name under which this bridge leases. */
  opened: tagged('opened', { owner: OwnerId }),
  /** On disk before a call that must not be repeated runs. */
  started: tagged('started', { ...call, plan_hash: Digest }, { epoch: Epoch }),
  /** How it ended: the settlement that is reported. */
  ended: tagged('ended', { ...call, event: Ingress }, { epoch: Epoch }),
  /** The engine has given its final answer to the settlement. */
  closed: tagged('closed', call),
});
export type LedgerLine = TypeOf<typeof LedgerLine>;

const CHECK_CHARS = 16;

const checkOf = (text: string): string => digestText(text).slice('sha256:'.length).slice(0, CHECK_CHARS);

/** The line with its line feed; null when it is too long. */
export function lineText(line: LedgerLine): string | null {
  const text = canonicalText(line);
  return text.length > LEDGER_LINE_CHARS_MAX ? null : `${checkOf(text)} ${text}\n`;
}

/** Every line that verifies, in order. */
export function readLines(bytes: Uint8Array): readonly LedgerLine[] {
  // What follows the last line feed was not written completely, even if it looks whole.
  const lines = new TextDecoder().decode(bytes).split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    const text = line.slice(CHECK_CHARS + 1);
    if (line[CHECK_CHARS] !== ' ' || line.slice(0, CHECK_CHARS) !== checkOf(text)) return [];
    const parsed = parseJson(text, LEDGER_LINE_CHARS_MAX);
    const decoded = isLeft(parsed) ? parsed : decode(LedgerLine, parsed.right);
    return isLeft(decoded) ? [] : [decoded.right];
  });
}
