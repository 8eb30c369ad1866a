// Random streams: facts that are mostly plausible in the state they meet, with late, stale and senseless ones between.
import type { IngressEvent, Position } from '../../schemas/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { type Random, randomFrom } from './random.ts';
import { type Session, call, say, session } from './session.ts';

const TOOLS = [
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
  'person',
];

type Guess = (of: Session, random: Random) => IngressEvent;

const someCall = (of: Session, random: Random): string =>
  random.pick(of.state.active_tool_batch?.observed.map((made) => made.call_id as string) ?? ['c0']);

const calls = (random: Random) =>
  Array.from({ length: random.below(5) }, (_, index) =>
    call(random.oneIn(12) ? 'c0' : `c${index}`, random.pick(TOOLS), {
      path: `d${random.below(3)}/f${random.below(4)}`,
      n: random.below(50),
    }),
  );

const nameOf = (of: Session, id: string): string =>
  of.state.active_tool_batch?.observed.find((made) => made.call_id === id)?.tool_name ?? 'nope';

function confirmation(of: Session, random: Random): IngressEvent {
  const call_id = someCall(of, random);
  const answer = of.answerFields(call_id);
  if (random.oneIn(3)) {
    const instead = { call_id: `${call_id}-edited`, tool_name: nameOf(of, call_id), arguments: { n: 1 } };
    return of.next('user.tool_confirmation', { ...answer, result: 'deny', ...(random.oneIn(2) ? { instead } : {}) });
  }
  const grant = random.oneIn(4) ? { grant: { argument: 'path', pattern: 'd1/**' } } : {};
  return of.next('user.tool_confirmation', { ...answer, result: 'allow', ...grant });
}

/** What belongs to the phase the session is in. */
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
  confirmation,
  (of, random) =>
    of.next('user.custom_tool_result', {
      ...of.answerFields(someCall(of, random)),
      result: { success: !random.oneIn(4) },
      output: say('by hand'),
    }),
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
    of.next('ConsentPolicySet', { policy: CONSENT_PRESETS[random.pick(['allow_all', 'careful', 'default'] as const)] }),
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

/** The event a stream of this seed meets the session with. */
const guess = (of: Session, random: Random): IngressEvent =>
  random.pick(random.oneIn(5) ? OTHERS : PLAUSIBLE)(of, random);

export interface Walked {
  readonly session: Session;
  readonly refused: number;
}

/** A session after `length` random facts, those that were refused left out; `visit` sees each attempt. */
export function walk(
  seed: number,
  length: number,
  visit: (before: Session, event: IngressEvent, after: Session | null) => void = () => undefined,
): Walked {
  const random = randomFrom(seed);
  let now = session();
  let refused = 0;
  for (let count = 0; count < length; count += 1) {
    const event = guess(now, random);
    const after = attempt(now, event);
    visit(now, event, after);
    if (after === null) refused += 1;
    else now = after;
  }
  return { session: now, refused };
}

function attempt(of: Session, event: IngressEvent): Session | null {
  try {
    return of.taking(event);
  } catch (error) {
    if (error instanceof Error && error.message.includes(' was refused: ')) return null;
    throw error;
  }
}
