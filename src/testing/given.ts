// Given/when/then over the fold: given these facts, when this fact arrives, then check the state, the owed effects, or the
// refusal. There is no engine and no store.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { Effect } from '../../schemas/effect.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Rejection, RejectionCode } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { effects } from '../core/effects.ts';
import { type GenesisOverrides, defaultGenesis } from '../core/genesis.ts';
import { initialState } from '../core/initial-state.ts';
import { stepNew } from '../core/step.ts';
import { type Fact, type Loose, factEvent } from './facts.ts';

/** Any part of a value. Absent fields are not compared; arrays are compared item by item. */
export type Part<T> = T extends readonly (infer Item)[]
  ? readonly Part<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: Part<T[K]> }
    : T;

export interface Given {
  readonly state: SessionState;
  readonly events: readonly IngressEvent[];
  /** Adds facts. Throws, naming the fact, when one is refused. */
  and(...facts: readonly Fact[]): Given;
  when(fact: Fact): When;
}

/** The outcome of one fact. Each check throws an Error that says what differs, and returns the same object. */
export interface When {
  readonly outcome: Either<Rejection, SessionState>;
  /** The fact was accepted and the state has this part. */
  thenState(part: Part<Loose<SessionState>>): When;
  /** The fact was accepted and exactly these effects are owed, in this order, each with this part. */
  thenOwes(...parts: readonly Part<Loose<Effect>>[]): When;
  /** The fact was refused with this code. */
  thenRefused(code: RejectionCode): When;
}

/**
 * A session with these facts, in order. `genesis` sets the tool package, the consent policy or the config. Throws, naming
 * the fault, when the genesis is invalid or a fact is refused.
 */
export function given(facts: readonly Fact[], genesis: GenesisOverrides = {}): Given {
  return givenState(initialState(defaultGenesis(genesis), genesis.tool_package), []).and(...facts);
}

function givenState(state: SessionState, events: readonly IngressEvent[]): Given {
  return {
    state,
    events,
    and: (...facts) => takeAll(state, events, facts),
    when(fact) {
      const { kind } = factOf(fact);
      const stepped = stepNew(state, factEvent(fact, events.length + 1));
      return whenOf(kind, isLeft(stepped) ? stepped : { ...stepped, right: stepped.right.state });
    },
  };
}

/** Adds the facts in a loop: a test may have thousands of them. */
function takeAll(state: SessionState, events: readonly IngressEvent[], facts: readonly Fact[]): Given {
  const taken = [...events];
  let now = state;
  for (const fact of facts) {
    const { kind } = factOf(fact);
    const stepped = stepNew(now, factEvent(fact, taken.length + 1));
    if (isLeft(stepped)) throw new Error(`given ${kind}: it is refused: ${JSON.stringify(stepped.left)}`);
    now = stepped.right.state;
    taken.push(stepped.right.event);
  }
  return givenState(now, taken);
}

function factOf(fact: unknown): Fact {
  if (typeof fact === 'object' && fact !== null && 'kind' in fact) return fact as Fact;
  throw new TypeError("a fact is an object with a kind, such as { kind: 'RunResumed', run_id: 'run-1' }");
}

function whenOf(kind: string, outcome: When['outcome']): When {
  const taken = (): SessionState => {
    if (isLeft(outcome)) throw new Error(`${kind} is refused: ${JSON.stringify(outcome.left)}`);
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
      if (!isLeft(outcome)) throw new Error(`${kind} is accepted`);
      same(outcome.left.code, code);
      return when;
    },
  };
  return when;
}

/** Where a value differs from the expected part; null when it matches. */
function findDifference(actual: unknown, part: unknown, path: string): string | null {
  const differs = `at "${path}": expected ${JSON.stringify(part)}, got ${JSON.stringify(actual)}`;
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
