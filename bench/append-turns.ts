// Many sessions append the events of turn after turn to a journal, as the engine does, and nothing else.
import { randomUUID } from 'node:crypto';
import { canonicalText, digestText } from '../schemas/canonical.ts';
import { type Position, type SessionId, brand } from '../schemas/ids.ts';
import { must } from '../src/client/must.ts';
import { nextChain } from '../src/core/chain.ts';
import { initialState } from '../src/core/initial-state.ts';
import { headFacts } from '../src/core/session-head.ts';
import type { Journal, JournalCommit } from '../src/journal/journal.ts';
import { TURN_EVENTS, benchGenesis, recordStream } from './stream.ts';
import { benchPackage } from './tools.ts';

export interface Appended {
  /** Turns in a second. */
  readonly rate: number;
  /** The canonical bytes of all events. */
  readonly bytes: number;
}

const HEAD = headFacts(initialState(benchGenesis(), benchPackage()));

/** Creates sessions, then measures their turns, with two appends each: the calls of the model, and their settlements. */
export async function appendTurns(journal: Journal, sessions: number, turns: number): Promise<Appended> {
  const round = randomUUID();
  const texts = [...recordStream(benchGenesis(), 1 + 10 * TURN_EVENTS)]
    .slice(-TURN_EVENTS)
    .map(({ event }) => canonicalText(event));
  const digests = texts.map(digestText);
  const digest = digestText('any');
  const ids = Array.from({ length: sessions }, (_, index): SessionId => brand(`${round}-${index}`));
  await Promise.all(ids.map((id) => must(journal.create(id, '{}', { digest, text: '{}' }, HEAD))));
  const startedAt = performance.now();
  const one = async (session: SessionId): Promise<void> => {
    let chain = digest;
    for (let turn = 0; turn < turns; turn += 1) {
      for (const [from, to] of [
        [0, 1],
        [1, texts.length],
      ] as const) {
        const events = texts
          .slice(from, to)
          .map((text, index) => ({ text, event_id: brand<'EventId'>(`turn-${turn}/${from + index}`) }));
        // The engine computes the link before it appends.
        chain = nextChain(chain, digests.slice(from, to), digest);
        const position = (turn * TURN_EVENTS + from) as Position;
        const commit: JournalCommit = { position, events, state_digest: digest, chain };
        await must(journal.append(session, [commit], HEAD));
      }
    }
  };
  await Promise.all(ids.map(one));
  const rate = (sessions * turns * 1_000) / (performance.now() - startedAt);
  return { rate, bytes: sessions * turns * texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) };
}
