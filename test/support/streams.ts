// Random streams: facts that answer owed effects, facts that are plausible in the current state, and late, stale and
// invalid ones between them.
import type {
  Effect,
  EffectOfKind,
  Ingress,
  IngressEvent,
  IngressKind,
  Position,
  ToolPackage,
} from '../../schemas/index.ts';
import { type NamesRules, newestRules, rulesOf } from '../../reducers/rules/known-rules.ts';
import { unreachable } from '../../schemas/rejection.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { permissionTools } from '../../src/toolsets/permission-tools.ts';
import { approvalFacts, removalFacts, toolsetFact } from '../../src/testing/toolset-facts.ts';
import { toolsFind } from '../../src/toolsets/tools-find.ts';
import { ASKS_WRITE, PERSON_LOOKS, SHOWS_WRITE, TIMED_ELSEWHERE, TIMED_PERSON } from './consent.ts';
import { type Random, randomFrom } from './random.ts';
import { PREVIEW, PREVIEW_DIGEST, type Session, call, say, session } from './session.ts';
import { testPackage } from './tools.ts';

const namesOf = ({ rules, since }: NamesRules): NamesRules => ({ rules, since });

const FURTHER = [
  ASKS_WRITE,
  SHOWS_WRITE,
  PERSON_LOOKS,
  TIMED_PERSON,
  ...TIMED_ELSEWHERE,
  ...permissionTools(),
  toolsFind(),
];

/** The test package, and one tool for each further way to ask. */
function walkPackage(): ToolPackage {
  const { registry, profiles, provider_profiles } = testPackage();
  const ids = FURTHER.map((tool) => tool.tool_id);
  return {
    registry: [...registry, ...FURTHER],
    profiles: profiles.map((profile) =>
      profile.profile_id === 'all' ? { ...profile, tool_ids: [...profile.tool_ids, ...ids] } : profile,
    ),
    provider_profiles,
  };
}

const TOOLS = [
  'read',
  'read',
  'write',
  'copy',
  'free',
  'once',
  'barrier',
  'hosted',
  'keyed',
  'nope',
  'spare',
  'asks',
  'asks',
  'asks_write',
  'shows_write',
  'shows_write',
  'person',
  'person_looks',
  'timed_person',
  ...TIMED_ELSEWHERE.map(({ tool_name }) => tool_name),
  ...permissionTools().map(({ tool_name }) => tool_name),
  'tools_find',
  'mcp__one__a',
  'mcp__one__b',
  'skill__a',
];

type Guess = (of: Session, random: Random) => IngressEvent;

const someCall = (of: Session, random: Random): string =>
  random.pick(of.state.active_tool_batch?.observed.map((made) => made.call_id as string) ?? ['c0']);

/** Up to six calls; some share an id with the first, some repeat the read before them. */
function calls(random: Random): readonly ReturnType<typeof call>[] {
  const made: ReturnType<typeof call>[] = [];
  const length = random.oneIn(6) ? 0 : 1 + random.below(6);
  while (made.length < length) {
    const id = random.oneIn(12) ? 'c0' : `c${made.length}`;
    const last = made.at(-1);
    const again = last !== undefined && random.oneIn(3) && /read|looks/.test(last.tool_name);
    const args = {
      path: `d${random.below(2)}/f${random.below(3)}`,
      ...(random.oneIn(2) ? { n: random.below(50) } : {}),
      ...(random.oneIn(4) ? { query: random.pick(['one', 'thing', 'read', 'skill']) } : {}),
    };
    made.push(again ? call(id, last.tool_name, last.arguments) : call(id, random.pick(TOOLS), args));
  }
  return made;
}

const nameOf = (of: Session, id: string): string =>
  of.state.active_tool_batch?.observed.find((made) => made.call_id === id)?.tool_name ?? 'nope';

function confirm(of: Session, random: Random, call_id: string): IngressEvent {
  const answer = of.answerFields(call_id);
  if (random.oneIn(3)) {
    const instead = call(`${call_id}-${of.events.length}`, nameOf(of, call_id), { path: 'd1/f1' });
    return of.next('user.tool_confirmation', { ...answer, result: 'deny', ...(random.oneIn(2) ? { instead } : {}) });
  }
  const named = of.callState(call_id)?.preview;
  const seen = named === undefined || random.oneIn(2) ? undefined : 'digest' in named ? named.digest : PREVIEW_DIGEST;
  const grant = random.oneIn(5) ? { grant: random.oneIn(4) ? {} : { argument: 'path', pattern: 'd1/**' } } : {};
  return of.next('user.tool_confirmation', {
    ...answer,
    result: 'allow',
    ...grant,
    ...(seen === undefined ? {} : { preview: seen }),
  });
}

const fulfil = (of: Session, random: Random, call_id: string): IngressEvent =>
  of.next('user.custom_tool_result', {
    ...of.answerFields(call_id),
    result: { success: !random.oneIn(4) },
    output: say('by hand'),
    ...(random.oneIn(6) ? { output_verdict: { valid: false, path: '/x', message: 'no' } } : {}),
  });

const elicit = (of: Session, random: Random, call_id: string): IngressEvent => {
  const action = random.pick(['accept', 'accept', 'decline', 'cancel'] as const);
  return of.next('user.elicitation_result', {
    ...of.elicitedFields(call_id),
    action,
    ...(random.oneIn(3) ? { content: { n: random.below(9) } } : {}),
    ...(random.oneIn(6) ? { content_verdict: { valid: false, path: '/n', message: 'no' } } : {}),
  });
};

/** What a running call notes or asks before it settles. */
function progress(of: Session, random: Random, call_id: string): IngressEvent {
  const attempt = of.attemptFields(call_id);
  if (random.oneIn(3)) return of.next('ToolCallNoted', { ...attempt, handle: `task-${random.below(3)}` });
  const question = { message: 'which?', ...(random.oneIn(2) ? { schema: { type: 'object' } } : {}) };
  return of.next('ToolCallAsked', { ...attempt, question, ...(random.oneIn(2) ? { resume: say('state') } : {}) });
}

const settle = (of: Session, random: Random, call_id: string): IngressEvent => {
  const outcome = random.pick(['succeeded', 'succeeded', 'succeeded', 'failed', 'failed', 'cancelled'] as const);
  return of.next('ToolCallSettled', {
    ...of.settlementFields(call_id, { outcome }),
    ...(random.oneIn(2) ? { retryable: true, jitter_permille: 800 + random.below(401) } : {}),
    ...(random.oneIn(8) ? { output_verdict: { valid: false } } : {}),
  });
};

function generated(of: Session, random: Random): IngressEvent {
  if (random.oneIn(6)) {
    const isTooLong = (of.state.run?.config.context ?? null) !== null && of.events.length % 2 === 0;
    const failed = { ...of.turnFields(), code: isTooLong ? 'context_length' : 'no_answer', message: 'none' };
    return of.next('GenerateFailed', { ...failed, retryable: !random.oneIn(6), jitter_permille: 1_200 });
  }
  if (random.oneIn(20)) return of.next('RunCompleted', { run_id: of.runId() });
  const usage = { input_tokens: random.below(300), output_tokens: random.below(50) };
  const stop = { reason: of.events.length % 5 === 0 ? 'paused' : 'other' } as const;
  return of.next('ToolCallsObserved', { ...of.turnFields(), calls: calls(random), content: say('t'), usage, stop });
}

/** Answers a compaction, sometimes with a page that was not asked for. */
function compacted(of: Session, random: Random, { through }: EffectOfKind<'llm.compact'>): IngressEvent {
  if (random.oneIn(4)) {
    const failed = { ...of.turnFields(), code: 'no_answer', message: 'none' };
    return of.next('CompactFailed', { ...failed, retryable: random.oneIn(2), jitter_permille: 900 });
  }
  const other = random.oneIn(6) ? (of.state.last_tool_plan_hash ?? through) : through;
  const usage = { input_tokens: 9, output_tokens: 1 };
  return of.next('ContextCompacted', { ...of.turnFields(), through: other, summary: say('so far'), usage });
}

/** Says what a call would do, or why that is not known; sometimes of another call. */
function previewed(of: Session, random: Random, id: string): IngressEvent {
  const preview = random.oneIn(4)
    ? { code: 'not_found', message: 'no such file' }
    : { ...PREVIEW, files: [{ path: `f${random.below(3)}`, before: null }] };
  return of.next('CallPreviewed', { ...of.previewFields(random.oneIn(8) ? someCall(of, random) : id), preview });
}

const isReadOnly = ({ state }: Session, id: string): boolean =>
  state.active_tool_batch?.plan.planned_calls.find(({ call_id }) => call_id === id)?.read_only === true;

/** Starts, settles or loses an owed call, or reports it too early. */
function called(of: Session, random: Random, effect: EffectOfKind<'tool.call'>): IngressEvent {
  const [first = effect.call_id] = effect.after;
  const call_id = random.oneIn(6) ? effect.call_id : first;
  const { batch_id, attempt } = of.callFields(call_id);
  const runs = of.callState(call_id)?.status === 'running';
  if (runs && random.oneIn(4)) return of.next('LeaseExpired', { batch_id, call_id, attempt });
  if (runs && random.oneIn(4)) return progress(of, random, call_id);
  // Without a start on record, only the outcome of a read-only call is taken.
  const bare = isReadOnly(of, call_id) ? random.oneIn(2) : random.oneIn(8);
  if (!runs && !bare) return of.next('ToolCallStarted', { ...of.callFields(call_id), owner: 'b0' });
  return settle(of, random, call_id);
}

/** A fact that answers an effect. */
function answer(of: Session, random: Random, effect: Effect): IngressEvent {
  switch (effect.kind) {
    case 'llm.generate':
      return generated(of, random);
    case 'llm.compact':
      return compacted(of, random, effect);
    case 'tool.call':
      return called(of, random, effect);
    case 'tool.cancel':
      return settle(of, random, effect.call_id);
    case 'agent.tool_use':
      return confirm(of, random, effect.call_id);
    case 'agent.elicitation':
      return elicit(of, random, effect.call_id);
    case 'tool.answer':
      return settle(of, random, effect.call_id);
    case 'agent.custom_tool_use':
      return fulfil(of, random, effect.call_id);
    case 'batch.settle':
      return of.next('ToolBatchSettled', of.batchFields());
    case 'host_session.open':
      return of.next('HostSessionUpdated', { host_session: { host_session_status: 'ready' } });
    case 'call.undo': {
      const { position, batch_id, call_id } = effect;
      return of.next('UndoSettled', { position, batch_id, call_id, success: random.oneIn(2) });
    }
    case 'call.preview':
      return previewed(of, random, effect.call_id);
    case 'wake':
      return of.next('TimeReached', { due_at_ms: effect.at_ms });
  }
  return unreachable(effect);
}

/** Answers an owed effect; requests a run when nothing is owed. */
const answering: Guess = (of, random) => {
  const owed = of.effects();
  // Times come rarely, otherwise nothing would be answered before them.
  const now = owed.filter((effect) => effect.kind !== 'wake' || random.oneIn(6));
  if (now.length > 0) return answer(of, random, random.pick(now));
  if (of.state.run?.phase.startsWith('paused_') === true) return of.next('RunResumed', { run_id: of.runId() });
  if (owed[0] !== undefined) return answer(of, random, owed[0]);
  const bounded = random.oneIn(4) ? { tokens_max: 600, wall_ms_max: 40_000 } : {};
  const context = of.state.runs_started % 2 === 1 ? { context: { mark: 150 } } : {};
  const offered = random.oneIn(3) ? { offer_max: 1 + random.below(20) } : {};
  return of.next('RunRequested', { input: say('go'), run_overrides: { ...bounded, ...context, ...offered } });
};

const ofFact = <K extends IngressKind>(of: Session, { kind, ...fields }: Extract<Ingress, { readonly kind: K }>) =>
  of.next(kind, fields as never);

/** A fact that fits the phase of the session. */
const PLAUSIBLE: readonly Guess[] = [
  (of, random) =>
    of.next('ToolCallsObserved', { ...of.turnFields(), calls: calls(random), content: say(`t${random.below(9)}`) }),
  (of, random) => of.next('ToolCallStarted', { ...of.callFields(someCall(of, random)), owner: `b${random.below(2)}` }),
  (of, random) =>
    of.next(
      'ToolCallSettled',
      of.settlementFields(someCall(of, random), {
        outcome: random.pick(['succeeded', 'succeeded', 'failed', 'cancelled']),
      }),
    ),
  (of, random) => of.next('ToolCallSettled', of.settlementFields(someCall(of, random))),
  (of) => of.next('ToolBatchSettled', of.batchFields()),
  (of, random) => confirm(of, random, someCall(of, random)),
  (of, random) => fulfil(of, random, someCall(of, random)),
  (of) => of.next('RunRequested', { input: say('go') }),
];

const OTHERS: readonly Guess[] = [
  (of, random) =>
    of.next('LeaseExpired', {
      batch_id: of.batchFields().batch_id,
      call_id: someCall(of, random),
      attempt: 1 + random.below(2),
    }),
  (of, random) =>
    of.next('HostSessionUpdated', {
      host_session: {
        host_session_status: random.pick(['ready', 'ready', 'closed', 'expired']),
        expires_at_ms: 1_000 * random.below(400),
      },
    }),
  (of, random) =>
    of.next('ToolOverridesSet', {
      scope: random.pick(['session', 'run']),
      disable: random.oneIn(2) ? ['read'] : [],
      enable: random.oneIn(2) ? ['spare'] : [],
    }),
  (of, random) => of.next('ToolProfileSelected', { profile_id: random.pick(['all', 'few', 'none']) }),
  (of, random) =>
    of.next('SessionConfigured', { config: { turns_max: 1 + random.below(30), host_session_open: random.oneIn(4) } }),
  (of) => of.next('RunSteered', { run_id: of.runId(), input: say('left') }),
  (of) => of.next('FollowUpQueued', { follow_up: { input: say('then') } }),
  (of) => of.next('RunPaused', { run_id: of.runId() }),
  (of) => of.next('RunResumed', { run_id: of.runId() }),
  (of) => of.next('RunResumed', { run_id: of.runId() }),
  (of) => of.next('user.interrupt', { run_id: of.runId() }),
  (of) => of.next('user.interrupt', { run_id: of.runId(), input: say('rather this') }),
  (of, random) =>
    of.next('ConsentPolicySet', {
      policy: {
        ...CONSENT_PRESETS[random.pick(['allow_all', 'careful', 'default', 'read_only'] as const)],
        tools: random.oneIn(3) ? { once: 'deny', free: 'always_ask' } : {},
        ...(random.oneIn(2) ? { approval_ttl_ms: 1 + random.below(30_000) } : {}),
      },
    }),
  (of) => of.next('RulesAdopted', namesOf(newestRules())),
  (of) => of.next('RunCompleted', { run_id: of.runId() }),
  (of) => of.next('ToolRegistrySet', { registry: of.tool_package.registry }),
  (of, random) => ofFact(of, toolsetFact(random.below(60))),
  (of) => of.next('RulesAdopted', namesOf(newestRules())),
  (of, random) => ofFact(of, approvalFacts(of.state, random.below(8))[0] ?? toolsetFact(random.below(60))),
  (of, random) => ofFact(of, approvalFacts(of.state, random.below(8))[0] ?? toolsetFact(random.below(60))),
  (of, random) => ofFact(of, removalFacts(of.state, random.below(4))[0] ?? toolsetFact(random.below(60))),
  (of) => of.next('RunCancelled', { run_id: of.runId(), reason: 'no' }),
  (of) => of.next('RunFailed', { run_id: of.runId(), code: 'gave_up', message: 'no' }),
  (of) => of.next('GenerateFailed', { ...of.turnFields(), code: 'no_answer', message: 'none' }),
  (of, random) => of.next('TimeReached', { due_at_ms: 1_000 * random.below(500) }),
  (of, random) =>
    of.next('ToolCallSettled', { ...of.settlementFields('c0'), batch_id: `batch-${1 + random.below(5)}` }),
  (of, random) =>
    of.next('ToolCallsObserved', { run_id: `run-${1 + random.below(3)}`, turn: 1 + random.below(3), calls: [] }),
  (of, random) =>
    of.next('UndoRequested', {
      batch_id: `batch-${1 + random.below(2)}`,
      call_id: `c${random.below(3)}`,
      changes: [{ path: `f${random.below(3)}`, before: null, after_digest: null }],
    }),
  (of, random) => {
    const undo = of.state.undos?.[0];
    const position = (random.oneIn(4) ? random.below(9) : (undo?.position ?? 0)) as Position;
    const named = { batch_id: undo?.batch_id ?? 'batch-1', call_id: undo?.call_id ?? 'c0' };
    return of.next('UndoSettled', { position, ...named, success: random.oneIn(2) });
  },
  (of) => ({ ...of.next('RunPaused', { run_id: of.runId() }), kind: 'Nonsense' }) as never,
];

/** The next event of a random stream for this session. */
export const guess = (of: Session, random: Random): IngressEvent =>
  random.below(10) < 6 ? answering(of, random) : random.pick(random.oneIn(3) ? OTHERS : PLAUSIBLE)(of, random);

export interface Walked {
  readonly session: Session;
  readonly refused: number;
}

type Visit = (before: Session, event: IngressEvent, after: Session | null) => void;

interface RecordedWalk extends Walked {
  readonly visits: readonly Parameters<Visit>[];
}

/** The last walks: tests that look at the same seeds share them. */
const recent = new Map<string, RecordedWalk>();
const RECENT_MAX = 64;

/** A session after `length` random facts, without the refused ones; `visit` sees each attempt. */
export function walk(seed: number, length: number, visit: Visit = () => undefined): Walked {
  const key = `${seed} ${length}`;
  const walked = recent.get(key) ?? recordWalk(seed, length);
  recent.set(key, walked);
  for (const oldest of recent.keys()) {
    if (recent.size <= RECENT_MAX) break;
    recent.delete(oldest);
  }
  for (const visited of walked.visits) visit(...visited);
  return walked;
}

/** Where a walk begins: with the first rules, so that it can adopt later ones. */
export const walkSession = (): Session => session({ tool_package: walkPackage(), ...namesOf(rulesOf({ rules: 1 })) });

function recordWalk(seed: number, length: number): RecordedWalk {
  const random = randomFrom(seed);
  const visits: Parameters<Visit>[] = [];
  let now = walkSession();
  let refused = 0;
  for (let count = 0; count < length; count += 1) {
    const event = guess(now, random);
    const after = attempt(now, event);
    visits.push([now, after?.events.at(-1) ?? event, after]);
    if (after === null) refused += 1;
    else now = after;
  }
  return { session: now, refused, visits };
}

/** The session after the event; null when it is refused. */
export function attempt(of: Session, event: IngressEvent): Session | null {
  try {
    return of.taking(event);
  } catch (error) {
    if (error instanceof Error && error.message.includes(' was refused: ')) return null;
    throw error;
  }
}
