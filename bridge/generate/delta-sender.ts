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
  /** Of the text that arrives now. */
  let kind: DeltaPart['kind'] = 'text';
  const stream = redactor.newStream();
  let posting = false;
  let ended = false;
  let cancelTimer: (() => void) | null = null;

  function show(text: string): void {
    if (text === '') return;
    ready.push({ kind, text });
    readyChars += text.length;
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
    cancelTimer?.();
    cancelTimer = null;
  }

  return {
    add(delta) {
      if (ended || delta.text === '') return;
      if (delta.kind !== kind) {
        // What may be the beginning of a secret is no longer held back when the text goes on in another kind.
        show(stream.end());
        kind = delta.kind;
      }
      show(stream.take(delta.text));
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
