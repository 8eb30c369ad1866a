// Given these facts, when this one happens, then this is the state, this is owed, or this is why it was refused. No
// engine, no store: the fold alone.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { Effect } from '../../schemas/effect.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Rejection, RejectionCode } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { effects } from '../core/effects.ts';
import { type GenesisOverrides, defaultGenesis } from '../core/genesis.ts';
import { initialState } from '../core/initial-state.ts';
import { step } from '../core/step.ts';
import { type Fact, type Loose, factEvent } from './facts.ts';

/** Any part of a value: what is not named is not compared; arrays are compared item by item. */
export type Part<T> = T extends readonly (infer Item)[]
  ? readonly Part<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: Part<T[K]> }
    : T;

export interface Given {
  readonly state: SessionState;
  readonly events: readonly IngressEvent[];
  /** More facts; throws, naming the fact, when one is refused. */
  and(...facts: readonly Fact[]): Given;
  when(fact: Fact): When;
}

/** What came of one fact. Each check throws an Error that says what differs, and gives the same again. */
export interface When {
  readonly outcome: Either<Rejection, SessionState>;
  /** It was taken, and the state has this part. */
  thenState(part: Part<Loose<SessionState>>): When;
  /** It was taken, and exactly these effects are owed, in this order, each with this part. */
  thenOwes(...parts: readonly Part<Loose<Effect>>[]): When;
  /** It was refused with this code. */
  thenRefused(code: RejectionCode): When;
}

/**
 * A session of these facts, in order. `genesis`: another tool package, consent policy or config. Throws, naming what is
 * wrong, for a genesis that is none and for a fact that is refused.
 */
export function given(facts: readonly Fact[], genesis: GenesisOverrides = {}): Given {
  return givenState(initialState(defaultGenesis(genesis)), []).and(...facts);
}

function givenState(state: SessionState, events: readonly IngressEvent[]): Given {
  return {
    state,
    events,
    and: (...facts) => takeAll(state, events, facts),
    when(fact) {
      const { kind } = factOf(fact);
      const stepped = step(state, factEvent(fact, events.length + 1));
      return whenOf(kind, isLeft(stepped) ? stepped : { ...stepped, right: stepped.right.state });
    },
  };
}

/** Each in its turn: a test may have thousands of them. */
function takeAll(state: SessionState, events: readonly IngressEvent[], facts: readonly Fact[]): Given {
  const taken = [...events];
  let now = state;
  for (const fact of facts) {
    const { kind } = factOf(fact);
    const event = factEvent(fact, taken.length + 1);
    const stepped = step(now, event);
    if (isLeft(stepped)) throw new Error(`given ${kind}: it was refused: ${JSON.stringify(stepped.left)}`);
    now = stepped.right.state;
    taken.push(event);
  }
  return givenState(now, taken);
}

function factOf(fact: unknown): Fact {
  if (typeof fact === 'object' && fact !== null && 'kind' in fact) return fact as Fact;
  throw new TypeError("a fact is an object with a kind, such as { kind: 'RunResumed', run_id: 'run-1' }");
}

function whenOf(kind: string, outcome: When['outcome']): When {
  const taken = (): SessionState => {
    if (isLeft(outcome)) throw new Error(`${kind} was refused: ${JSON.stringify(outcome.left)}`);
    return outcome.right;
  };
  const same = (actual: unknown, part: unknown): void => {
    const fault = findDifference(actual, part, '');
    if (fault !== null) throw new Error(`after ${kind}, ${fault}`);
  };
  const when: When = {
    outcome,
    thenState(part) {
      same(taken(), part);
      return when;
    },
    thenOwes(...parts) {
      same(effects(taken()), parts);
      return when;
    },
    thenRefused(code) {
      if (!isLeft(outcome)) throw new Error(`${kind} was taken`);
      same(outcome.left.code, code);
      return when;
    },
  };
  return when;
}

/** Where a value differs from a part of it; null: nowhere. */
function findDifference(actual: unknown, part: unknown, path: string): string | null {
  const differs = `at "${path}": ${JSON.stringify(part)} was expected, and it is ${JSON.stringify(actual)}`;
  if (typeof part !== 'object' || part === null) return Object.is(actual, part) ? null : differs;
  if (typeof actual !== 'object' || actual === null) return differs;
  if (Array.isArray(part) !== Array.isArray(actual)) return differs;
  if (Array.isArray(part) && (actual as readonly unknown[]).length !== part.length) return differs;
  for (const [key, expected] of Object.entries(part)) {
    const fault = findDifference((actual as Record<string, unknown>)[key], expected, `${path}/${key}`);
    if (fault !== null) return fault;
  }
  return null;
}
