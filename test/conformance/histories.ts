// Random histories: runs with steers, interrupts, retries, compaction, model changes and turns of all APIs, and forks of them.
import { brand } from '../../schemas/ids.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import { newForker } from '../../src/core/copies/fork.ts';
import { mustBe } from '../../src/client/must.ts';
import { type Random, randomFrom } from '../../src/testing/random.ts';
import { chainAt, recordsOf } from '../audit/records.ts';
import { Session } from '../support/session.ts';
import { attempt, guess, walkSession } from '../support/streams.ts';
import { anyLayout } from './layouts.ts';
import { type Pages, type RequestsChecked, MODELS, addPages, checkRequests } from './requests.ts';
import type { Section } from './tally.ts';

const HISTORIES = 50;
const FACTS = 250;

export const histories: Section = {
  name: 'histories',
  async check(_corpora, tally, progress) {
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      progress(`seed ${seed} of ${HISTORIES}`);
      const { requests, shortened, faults } = await checkHistory(seed, FACTS);
      tally.count('histories');
      tally.count('requests', requests);
      tally.count('requests: of shortened windows', shortened);
      for (const fault of faults) tally.fail(`seed ${seed}`, fault);
    }
    return true;
  },
};

/** A history of so many random facts, some of them refused, and of half as many in a fork of it. */
export async function checkHistory(seed: number, length: number): Promise<RequestsChecked> {
  const random = randomFrom(seed);
  const source = grow(walkSession(), length, random);
  const pages: Pages = new Map();
  const start = walkSession().state;
  const own = await checkRequests(start, source.events, pages, random);
  const forked = fork(source, random, pages);
  const grown = grow(forked, Math.ceil(length / 2), random);
  const later = grown.events.slice(forked.events.length);
  const other = await checkRequests(forked.state, later, pages, random);
  return {
    requests: own.requests + other.requests,
    shortened: own.shortened + other.shortened,
    faults: [...own.faults, ...other.faults.map((fault) => `in the fork, ${fault}`)],
  };
}

function grow(from: Session, length: number, random: Random): Session {
  let now = from;
  for (let count = 0; count < length; count += 1) now = attempt(now, varied(guess(now, random), random)) ?? now;
  return now;
}

/** The fact with a layout, if it is a turn of the model, and with another model, if it is a new run. */
function varied(event: IngressEvent, random: Random): IngressEvent {
  if (event.kind === 'ToolCallsObserved') {
    const text = event.content !== undefined && 'text' in event.content ? event.content.text : '';
    const layout = anyLayout(random, text, event.calls.length);
    return layout === null ? event : { ...event, layout };
  }
  if (event.kind !== 'RunRequested') return event;
  const model = random.pick(random.pick(Object.values(MODELS)));
  return { ...event, run_overrides: { ...event.run_overrides, model } };
}

/** A session that shares the first events, up to any of them. */
function fork(source: Session, random: Random, pages: Pages): Session {
  const records = recordsOf(source);
  const at = random.below(source.events.length + 1);
  const run = random.pick(['pause', 'go', 'end'] as const);
  const session_id = brand<'SessionId'>('the-fork');
  const forker = newForker({ session_id, at, chain: chainAt(records, at), run, at_ms: 9_000_000 });
  for (const record of records) if (record.kind !== 'commit' || record.position < at) mustBe(forker.add(record));
  const { state, sealed } = mustBe(forker.finish());
  addPages(
    pages,
    sealed.map(({ text }) => text),
  );
  return new Session(source, LATE, state);
}

/** So many events that the next ones, whose times follow from their numbers, are later than the fork. */
const LATE = Array.from({ length: 10_000 }, (): IngressEvent => ({}) as IngressEvent);
