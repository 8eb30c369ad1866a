// The fold of a recorded session, compared with the cheapest possible fold: without digests, with the digest of every
// state, and with a full encoding of every state. Each contestant folds freshly parsed events from the same state.
// Before the measurement the bench checks that all of them give the same bytes.
import { evolve } from '../../reducers/evolve.ts';
import { sealTranscript } from '../../reducers/transcript.ts';
import { canonicalText, digestJson } from '../../schemas/canonical.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { SessionState } from '../../schemas/state.ts';
import { stateDigest, step } from '../../src/core/index.ts';
import { alternate } from '../alternate.ts';
import { type Known, bareFold } from '../bare-fold.ts';
import { bareMerkle } from '../bare-merkle.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { type Row, ratioAtLeast, rowOf } from '../row.ts';
import { TURN_EVENTS, benchGenesis, recordStream } from '../stream.ts';
import { mustBe } from '../../src/client/must.ts';

const REACH_FOLD = 0.8;
const REACH_DIGEST = 0.8;
const REACH_ENCODE = 5;

export const fold: Figure = { name: 'fold', run: measure };

/** One event as read from disk, and what the recording holds for a bare fold. */
interface Taped {
  readonly event: IngressEvent;
  readonly known: Known;
}

interface Tape {
  /** The state after the first event, which starts a run. */
  readonly start: SessionState;
  readonly last: SessionState;
  readonly texts: readonly string[];
}

async function measure(bench: Bench): Promise<readonly Row[]> {
  const tape = record(sized(bench, 6, 300));
  const events = tape.texts.length;
  checkAgreement(tape);
  const kb = (canonicalText(tape.last).length / 1_000).toFixed(1);
  bench.note(`fold: ${events} events of one session; its state has ${kb} kB of canonical text at the end`);
  const timed = (next: Next) => (): number => timeFold(tape, next);
  const encoding: Next = (state, { event, known }) => {
    const next = bareFold(state, event, known);
    digestJson(next);
    return next;
  };
  const contest = {
    folded: timed(folding),
    bare: timed((state, { event, known }) => bareFold(state, event, known)),
    digested: timed(digesting(stateDigest)),
    bareDigested: () => timeFold(tape, bareDigesting(tape.start)),
    encoded: timed(encoding),
    stepped: timed(stepping),
  };
  for (const warmUp of Object.values(contest)) warmUp();
  const runs = sized(bench, 1, 7);
  const values = await alternate(runs, contest, (run) => bench.progress(`fold: run ${run}/${runs}`));
  return rowsOf(values);
}

function rowsOf(values: {
  readonly [name in 'folded' | 'bare' | 'digested' | 'bareDigested' | 'encoded' | 'stepped']: readonly number[];
}): readonly Row[] {
  const unit = 'events/s';
  const bareDigest = { what: 'bare immer fold and cached Merkle digest', values: values.bareDigested };
  return [
    rowOf({
      what: 'fold, no digest',
      unit,
      values: values.folded,
      limit: { what: 'bare immer fold', values: values.bare },
      reach: ratioAtLeast(REACH_FOLD),
    }),
    rowOf({
      what: 'fold with the digest of every state',
      unit,
      values: values.digested,
      limit: bareDigest,
      reach: ratioAtLeast(REACH_DIGEST),
    }),
    rowOf({
      what: 'fold with the digest of every state',
      unit,
      values: values.digested,
      limit: { what: 'bare immer fold and full encoding of every state', values: values.encoded },
      reach: ratioAtLeast(REACH_ENCODE),
    }),
    rowOf({ what: 'whole step: decode, admit, fold, digest', unit, values: values.stepped, limit: bareDigest }),
  ];
}

function record(turns: number): Tape {
  const texts: string[] = [];
  let start: SessionState | null = null;
  let last: SessionState | null = null;
  for (const { event, state, sealed } of recordStream(benchGenesis(), 1 + turns * TURN_EVENTS)) {
    last = state;
    if (start === null) {
      start = state;
      continue;
    }
    const plan = event.kind === 'ToolCallsObserved' ? (state.active_tool_batch?.plan ?? null) : null;
    texts.push(canonicalText({ event, known: { plan, sealed: sealed?.ref ?? null } }));
  }
  if (start === null || last === null) throw new RangeError('no event was recorded');
  return { start, last, texts };
}

type Next = (state: SessionState, taped: Taped) => SessionState;

const folding: Next = (state, { event }) => sealTranscript(evolve(state, event)).state;

const digesting =
  (digestOf: (state: SessionState) => string): Next =>
  (state, taped) => {
    const next = folding(state, taped);
    digestOf(next);
    return next;
  };

// The engine has the digest of the first state before the first event, and so has this contestant.
function bareDigesting(start: SessionState): Next {
  const digests = new WeakMap<object, string>();
  bareMerkle(start, digests);
  return (state, { event, known }) => {
    const next = bareFold(state, event, known);
    bareMerkle(next, digests);
    return next;
  };
}

const stepping: Next = (state, { event }) => mustBe(step(state, event)).state;

function timeFold({ start, texts }: Tape, next: Next): number {
  const taped = texts.map((text) => JSON.parse(text) as Taped);
  stateDigest(start);
  let state = start;
  const startedAt = performance.now();
  for (const one of taped) state = next(state, one);
  return (taped.length * 1_000) / (performance.now() - startedAt);
}

function checkAgreement({ start, last, texts }: Tape): void {
  const want = canonicalText(last);
  const bareDigest = bareMerkle(last, new WeakMap());
  for (const next of [folding, stepping, bareDigesting(start)]) {
    let state = start;
    for (const text of texts) state = next(state, JSON.parse(text) as Taped);
    if (canonicalText(state) !== want) throw new Error('a measured fold ends in different bytes');
    if (bareMerkle(state, new WeakMap()) !== bareDigest) throw new Error('the bare digest differs');
  }
}
