// Posts what a model writes to the engine while it writes, for those who watch: merged for a moment, one post at a time, and
// without secrets. Nothing depends on it: a post that fails is not repeated, and the answer that is recorded takes its place.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { OwnerId } from '../../schemas/ids.ts';
import { DELTA_CHARS, DELTA_MS, DELTA_PARTS_MAX, DELTAS_CHARS_MAX } from '../../schemas/limits.ts';
import type { DeltaPart } from '../../schemas/wire.ts';
import type { EngineClient } from '../../src/client/client.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import type { ReplyDelta } from '../providers/provider.ts';
import type { Redactor } from '../secrets/redactor.ts';

export interface DeltaSenderOptions {
  readonly client: Pick<EngineClient, 'postDeltas'>;
  readonly owner: OwnerId;
  readonly leases: Pick<HeldLeases, 'epochOf'>;
  readonly redactor: Redactor;
  readonly clock: Pick<BridgeClock, 'after'>;
}

export interface DeltaSender {
  add(delta: ReplyDelta): void;
  /** The generate has ended: what has not been posted is dropped. */
  end(): void;
}

export function newDeltaSender(
  { client, owner, leases, redactor, clock }: DeltaSenderOptions,
  { session_id, effect_id }: Pick<EffectOfKind<'llm.generate'>, 'session_id' | 'effect_id'>,
): DeltaSender {
  /** Without secrets, ready to be posted. */
  let ready: DeltaPart[] = [];
  let readyChars = 0;
  /** Of the current kind: it may end with the beginning of a secret. */
  let kind: DeltaPart['kind'] = 'text';
  let held = '';
  let posting = false;
  let ended = false;
  let cancelTimer: (() => void) | null = null;

  /** Moves into `ready` what cannot be the beginning of a secret; all of it when the text goes on in another kind. */
  function release(whole: boolean): void {
    const [shown, rest] = whole ? [redactor.text(held.toWellFormed()), ''] : splitAtSecret(held, redactor);
    held = rest;
    if (shown === '') return;
    ready.push({ kind, text: shown });
    readyChars += shown.length;
  }

  async function post(): Promise<void> {
    if (posting || ended || ready.length === 0) return;
    const epoch = leases.epochOf({ session_id, effect_id });
    if (epoch === undefined) return;
    const parts = merged(ready);
    ready = [];
    readyChars = 0;
    posting = true;
    const answer = await client.postDeltas(session_id, { owner, effect_id, epoch, parts })();
    posting = false;
    // An engine that is away, or has given the generate to another bridge, is told the answer, or nothing.
    if (isLeft(answer)) end();
    else postLater();
  }

  function postLater(): void {
    if (ended || cancelTimer !== null || ready.length === 0) return;
    cancelTimer = clock.after(DELTA_MS, () => {
      cancelTimer = null;
      void post();
    });
  }

  function end(): void {
    ended = true;
    ready = [];
    held = '';
    cancelTimer?.();
    cancelTimer = null;
  }

  return {
    add(delta) {
      if (ended || delta.text === '') return;
      if (delta.kind !== kind) {
        release(true);
        kind = delta.kind;
      }
      held += delta.text;
      release(false);
      if (readyChars < DELTA_CHARS) postLater();
      else {
        cancelTimer?.();
        cancelTimer = null;
        void post();
      }
    },
    end,
  };
}

/** The text without secrets up to where one may begin that has not arrived in full, and the rest. */
function splitAtSecret(text: string, redactor: Redactor): readonly [shown: string, rest: string] {
  const last = text.charCodeAt(text.length - 1);
  // The other half of a surrogate pair comes with the next delta.
  const whole = last >= 0xd800 && last < 0xdc00 ? text.slice(0, -1) : text;
  const half = text.slice(whole.length);
  if (redactor.reach === 0) return [whole.toWellFormed(), half];
  const bytes = Buffer.from(whole, 'utf8');
  const end = bytes.length - redactor.pending(bytes);
  const shown = redactor.window(bytes, 0, end).toString('utf8');
  return [shown, bytes.subarray(end).toString('utf8') + half];
}

/** Neighbours of one kind joined, within the bounds of a post: of more, the newest. */
function merged(parts: readonly DeltaPart[]): readonly DeltaPart[] {
  const joined: { kind: DeltaPart['kind']; texts: string[] }[] = [];
  for (const { kind, text } of parts) {
    const last = joined.at(-1);
    if (last?.kind === kind) last.texts.push(text);
    else joined.push({ kind, texts: [text] });
  }
  const newest: DeltaPart[] = [];
  let room = DELTAS_CHARS_MAX;
  for (const { kind, texts } of joined.slice(-DELTA_PARTS_MAX).toReversed()) {
    const text = texts.join('').slice(-room).toWellFormed();
    if (text === '' || room === 0) break;
    newest.push({ kind, text });
    room -= text.length;
  }
  return newest.toReversed();
}
