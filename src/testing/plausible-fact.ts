// Picks the next fact of a random stream from a few numbers: mostly one that the phase waits for, sometimes another one.
import { effects } from '../core/effects.ts';
import type { Effect, EffectOfKind } from '../../schemas/effect.ts';
import { INGRESS_KINDS, type IngressKind } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { type Fact, call, say } from './facts.ts';
import { REGISTRY_WAYS } from './toolset-facts.ts';
import { filesOf } from './plausible-files.ts';
import { isRunning, plausibleAnswer, plausibleNote, plausibleQuestion } from './plausible-questions.ts';

/** The numbers that decide: `what` (0 to 99) picks the kind of fact, `a` and `b` its details. */
export interface Draw {
  readonly what: number;
  readonly a: number;
  readonly b: number;
}

/** The share of facts that the phase waits for, in percent. */
const PLAUSIBLE_PERCENT = 80;

export const plausibleFact = (state: SessionState, draw: Draw): Fact =>
  draw.what < PLAUSIBLE_PERCENT ? nextOf(state, draw) : otherFact(state, draw);

const pick = <T>(values: readonly T[], at: number): T | undefined => values[at % Math.max(1, values.length)];

type FactOf<K extends IngressKind> = Extract<Fact, { readonly kind: K }>;

/** What a fact is made from. */
interface From extends Draw {
  readonly state: SessionState;
  /** The live run; `run-1` without one. */
  readonly run_id: string;
}

/** Facts that answer an owed effect; null when this draw makes another one. */
interface Answers<K extends IngressKind> {
  readonly answers: { readonly [E in Effect['kind']]?: (owed: EffectOfKind<E>, of: From) => FactOf<K> | null };
}

/** Facts that may arrive at any time. When they do not fit the phase they are refused, and a stream leaves them out. */
interface Unasked<K extends IngressKind> {
  readonly unasked: (of: From) => readonly FactOf<K>[];
}

/** No plausible fact of this kind is made: the reason. */
interface None {
  readonly none: string;
}

type Ways = { readonly [K in IngressKind]: Answers<K> | Unasked<K> | (Answers<K> & Unasked<K>) | None };

/** A fact about a call whose start is on record. */
function whileRunning<F>(make: (owed: EffectOfKind<'tool.call'>, draw: number) => F | null) {
  return (owed: EffectOfKind<'tool.call'>, { state, b }: From): F | null =>
    isRunning(state, owed) ? make(owed, b) : null;
}

/**
 * Every kind of fact. When several kinds answer one effect, the first whose draw fits does: what is rare stands before what
 * is usual.
 */
const WAYS: Ways = {
  RunRequested: { unasked: ({ a }) => [request(a)] },
  GenerateFailed: {
    unasked: ({ state, run_id, b }) => [
      {
        kind: 'GenerateFailed',
        run_id,
        turn: state.run?.turn ?? 1,
        code: (state.run?.config.context ?? null) !== null && b % 2 === 1 ? 'context_length' : 'no_answer',
        message: 'none',
        ...retryable(b),
      },
    ],
  },
  ToolCallsObserved: {
    answers: {
      'llm.generate': ({ run_id, turn }, { state, ...draw }) => ({
        kind: 'ToolCallsObserved',
        run_id,
        turn,
        calls: someCalls(state, draw),
        // Above the mark of a session that has one.
        ...((state.run?.config.context ?? null) === null ? {} : { usage: { input_tokens: 9, output_tokens: draw.b } }),
      }),
    },
  },
  CompactFailed: {
    answers: {
      'llm.compact': ({ run_id, turn }, { b }) =>
        b % 2 === 0
          ? { kind: 'CompactFailed', run_id, turn, code: 'no_answer', message: 'none', ...retryable(b) }
          : null,
    },
  },
  ContextCompacted: {
    answers: {
      'llm.compact': ({ run_id, turn, through }) => ({
        kind: 'ContextCompacted',
        run_id,
        turn,
        through,
        summary: say(`all up to turn ${turn}`),
      }),
    },
  },
  ToolCallStarted: {
    answers: {
      'tool.call': (owed, { state, b }) => {
        // A call that is not read-only settles only after its start.
        if (isRunning(state, owed) || (owed.read_only && b % 4 > 0)) return null;
        return { kind: 'ToolCallStarted', ...reportOf(owed), plan_hash: owed.plan_hash, owner: `bridge-${b % 2}` };
      },
    },
  },
  ToolCallNoted: { answers: { 'tool.call': whileRunning(plausibleNote) } },
  ToolCallAsked: { answers: { 'tool.call': whileRunning(plausibleQuestion) } },
  LeaseExpired: {
    answers: {
      'tool.call': (owed, { state, b }) =>
        b % 4 === 1 && isRunning(state, owed) ? { kind: 'LeaseExpired', ...reportOf(owed) } : null,
    },
  },
  ToolCallSettled: {
    answers: {
      'tool.call': (owed, { b }) => ({
        kind: 'ToolCallSettled',
        ...reportOf(owed),
        plan_hash: owed.plan_hash,
        result: { success: b % 5 > 0 },
        output: say(`of ${owed.call_id}`),
        ...filesOf(b),
        ...retryable(b),
      }),
      'tool.cancel': (owed, { state }) => ({
        kind: 'ToolCallSettled',
        ...reportOf(owed),
        plan_hash: state.active_tool_batch?.plan.plan_hash ?? '',
        result: { success: false },
        outcome: 'cancelled',
        output: say(`${owed.call_id} was stopped`),
      }),
    },
  },
  ToolBatchSettled: {
    answers: { 'batch.settle': ({ batch_id, plan_hash }) => ({ kind: 'ToolBatchSettled', batch_id, plan_hash }) },
  },
  HostSessionUpdated: {
    answers: { 'host_session.open': () => hostSession('ready') },
    unasked: ({ b }) => [hostSession(b % 3 === 0 ? 'closed' : 'ready')],
  },
  ...REGISTRY_WAYS,
  ToolProfileSelected: {
    unasked: ({ state, b }) => [
      { kind: 'ToolProfileSelected', profile_id: pick(Object.keys(state.tool_profiles), b) ?? 'none' },
    ],
  },
  ToolOverridesSet: {
    unasked: ({ state, b }) => {
      const some = pick(Object.keys(state.tool_registry), b) ?? 'none';
      return [
        { kind: 'ToolOverridesSet', scope: 'session', disable: [some] },
        { kind: 'ToolOverridesSet', scope: 'session', force: [some] },
      ];
    },
  },
  SessionConfigured: { unasked: ({ b }) => [{ kind: 'SessionConfigured', config: { turns_max: 1 + b } }] },
  RunSteered: { unasked: ({ run_id, b }) => [{ kind: 'RunSteered', run_id, input: say('left'), ...filesOf(b) }] },
  FollowUpQueued: {
    unasked: ({ b }) => [{ kind: 'FollowUpQueued', follow_up: { input: say('then'), ...filesOf(b) } }],
  },
  RunPaused: { unasked: ({ run_id }) => [{ kind: 'RunPaused', run_id }] },
  RunResumed: { unasked: ({ run_id }) => [{ kind: 'RunResumed', run_id }] },
  RunCancelled: { unasked: ({ run_id }) => [{ kind: 'RunCancelled', run_id, reason: 'no' }] },
  RunCompleted: { unasked: ({ run_id }) => [{ kind: 'RunCompleted', run_id }] },
  RunFailed: { unasked: ({ run_id }) => [{ kind: 'RunFailed', run_id, code: 'gave_up', message: 'no' }] },
  ConsentPolicySet: {
    unasked: ({ state: { consent } }) =>
      consent === undefined ? [] : [{ kind: 'ConsentPolicySet', policy: consent.policy }],
  },
  CallPreviewed: {
    answers: {
      'call.preview': ({ batch_id, call_id, attempt, arguments_digest }, { b }) => ({
        kind: 'CallPreviewed',
        batch_id,
        call_id,
        attempt,
        arguments_digest,
        preview:
          b % 4 === 0
            ? { code: 'not_found', message: 'there is no such file' }
            : { diff: say(`+${b}`), files: [{ path: `p${b % 3}`, before: null }] },
      }),
    },
  },
  'user.tool_confirmation': {
    answers: {
      'agent.tool_use': (owed, { b }) => ({
        kind: 'user.tool_confirmation',
        ...addressOf(owed),
        result: b % 3 === 0 ? 'deny' : 'allow',
      }),
    },
  },
  'user.custom_tool_result': {
    answers: {
      'agent.custom_tool_use': (owed, { b }) => ({
        kind: 'user.custom_tool_result',
        ...addressOf(owed),
        result: { success: b % 5 > 0 },
        output: say(`of ${owed.call_id}, by hand`),
        ...filesOf(b),
      }),
    },
  },
  'user.elicitation_result': { answers: { 'agent.elicitation': (owed, { b }) => plausibleAnswer(owed, b) } },
  'user.interrupt': {
    unasked: ({ run_id, b }) => [
      { kind: 'user.interrupt', run_id },
      { kind: 'user.interrupt', run_id, input: say('rather this'), ...filesOf(b) },
    ],
  },
  UndoRequested: {
    unasked: ({ b }) => [
      {
        kind: 'UndoRequested',
        batch_id: 'batch-1',
        call_id: `c${b % 5}`,
        changes: [{ path: `p${b % 3}`, before: null, after_digest: null }],
      },
    ],
  },
  UndoSettled: {
    answers: {
      'call.undo': ({ position, batch_id, call_id }, { b }) => ({
        kind: 'UndoSettled',
        position,
        batch_id,
        call_id,
        success: b % 2 === 0,
      }),
    },
  },
  RulesAdopted: { none: 'this release knows one rule set, so no session can move on' },
  TimeReached: { answers: { wake: ({ at_ms }) => ({ kind: 'TimeReached', due_at_ms: at_ms }) } },
};

const request = (a: number): FactOf<'RunRequested'> => ({
  kind: 'RunRequested',
  input: say(`go ${a}`),
  ...filesOf(a),
});

const hostSession = (host_session_status: 'ready' | 'closed'): FactOf<'HostSessionUpdated'> => ({
  kind: 'HostSessionUpdated',
  host_session: { host_session_status },
});

const reportOf = ({ batch_id, call_id, attempt }: EffectOfKind<'tool.call' | 'tool.cancel'>) => ({
  batch_id,
  call_id,
  attempt,
});

const addressOf = ({
  batch_id,
  call_id,
  arguments_digest,
}: EffectOfKind<'agent.tool_use' | 'agent.custom_tool_use'>) => ({
  batch_id,
  call_id,
  arguments_digest,
});

/** Half of the failures are retryable. */
const retryable = (b: number): { readonly retryable?: true; readonly jitter_permille?: number } =>
  b % 10 === 0 ? { retryable: true, jitter_permille: 1_000 } : {};

/** The kinds of which no plausible fact is made. */
export const UNMADE_KINDS: readonly IngressKind[] = INGRESS_KINDS.filter((kind) => 'none' in WAYS[kind]);

const ALL_WAYS = Object.values(WAYS) as readonly Partial<Answers<IngressKind> & Unasked<IngressKind>>[];

/** Answers an owed effect; when there is none but a wake-up, mostly starts a run or resumes it. */
function nextOf(state: SessionState, draw: Draw): Fact {
  const { run } = state;
  const owed = owedTo(state, draw);
  const paused = run?.phase.startsWith('paused_') === true;
  const sleeps = owed?.kind === 'wake' && (run === null || (paused && draw.b % 4 > 0));
  const fact = owed === undefined || sleeps ? null : answerTo(owed, from(state, draw));
  if (fact !== null) return fact;
  return run === null ? request(draw.a) : { kind: 'RunResumed', run_id: run.run_id };
}

/** One of the owed effects; a wake-up when nothing else is owed, and seldom before, while calls run or are stopped. */
function owedTo(state: SessionState, { a, b }: Draw): Effect | undefined {
  const all = effects(state);
  const work = all.filter(({ kind }) => kind !== 'wake');
  const wake = b % WAKE_EVERY === 0 ? all.find(({ kind }) => kind === 'wake') : undefined;
  return wake ?? pick(work.length === 0 ? all : work, a);
}

/** A prime, so that the draws of other details go with every wake-up. */
const WAKE_EVERY = 13;

function answerTo(owed: Effect, of: From): Fact | null {
  for (const { answers } of ALL_WAYS) {
    const answer = answers?.[owed.kind] as ((owed: Effect, of: From) => Fact | null) | undefined;
    const fact = answer?.(owed, of) ?? null;
    if (fact !== null) return fact;
  }
  return null;
}

const otherFact = (state: SessionState, draw: Draw): Fact => {
  const of = from(state, draw);
  return pick(
    ALL_WAYS.flatMap(({ unasked }) => unasked?.(of) ?? []),
    draw.a,
  ) as Fact;
};

const from = (state: SessionState, draw: Draw): From => ({ ...draw, state, run_id: state.run?.run_id ?? 'run-1' });

function someCalls(state: SessionState, { a, b }: Draw): readonly ReturnType<typeof call>[] {
  const tools = Object.values(state.tool_registry);
  return Array.from({ length: b % 5 }, (_, index) => {
    const name = pick(tools, a + index * b)?.tool_name ?? 'no_such_tool';
    return call(`c${index}`, name, withClaimed(tools, name, { path: `p${(a + index) % 3}`, n: b + index }));
  });
}

/** The arguments, plus those that the tool's claims name, which get the value of `path`. */
export function withClaimed(
  tools: readonly ToolSpec[],
  name: string,
  args: { readonly path: string; readonly n: number },
): JsonObject {
  const { claims = [] } = tools.find(({ tool_name }) => tool_name === name)?.parallelism_hint ?? {};
  return { ...Object.fromEntries(claims.map(({ argument }) => [argument, args.path])), ...args };
}
