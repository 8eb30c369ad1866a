// Validates a scenario before it runs: an invalid one could pass or hang without an error.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Codec, decode, flag, integer, list, nullable, oneOf, shape, text } from '../../schemas/codec.ts';
import { CALLS_PER_BATCH_MAX, CONCURRENCY_MAX } from '../../schemas/limits.ts';
import { ANSWERS, COMPACTIONS, LAYOUT_SIZES, USAGES } from './model-script.ts';
import { ANSWERED, BOUNDARIES, STEPS } from './outside/outside-script.ts';
import { NAMED, PREVIEWS } from './preview-script.ts';
import {
  ACTS,
  BEHAVIOURS,
  DISK_FAULTS,
  MESSAGE_FAULTS,
  PROCESS_FAULTS,
  SIM_TOOL_NAMES,
  STRANGER_CLAIMS,
  type Scenario,
} from './scenario.ts';
import { TOOLSET_ACTS } from './toolset-script.ts';

/** The most sessions, bridges, turns, acts and faults of each kind. */
const EACH_MAX = 1_000;

const ms = integer('milliseconds', 0);
const nth = integer('a number', 1);

const PreviewScript = shape('PreviewScript', {
  how: oneOf('how', PREVIEWS),
  ms,
  editMs: nullable(ms),
  named: oneOf('named', NAMED),
});

const OutsideScript = shape('OutsideScript', {
  steps: list(oneOf('step', STEPS), EACH_MAX),
  answers: list(oneOf('answer', ANSWERED), EACH_MAX, 1),
  forgetMs: nullable(ms),
  dies: nullable(oneOf('dies', BOUNDARIES)),
});

const CallScript = shape(
  'CallScript',
  {
    tool: oneOf('tool', SIM_TOOL_NAMES),
    path: text('path', { min: 1, max: 64 }),
    ms,
    does: oneOf('does', BEHAVIOURS),
  },
  { fails: integer('fails', 0), grants: flag, preview: PreviewScript, outside: OutsideScript },
);

const ModelScript = shape('ModelScript', {
  mark: nullable(integer('mark', 1)),
  answers: list(
    shape('AnswerScript', {
      how: oneOf('how', ANSWERS),
      layout: oneOf('layout', LAYOUT_SIZES),
      usage: oneOf('usage', USAGES),
      ms,
    }),
    EACH_MAX,
    1,
  ),
  compactions: list(oneOf('compaction', COMPACTIONS), EACH_MAX, 1),
  deltas: flag,
});

const SessionScript = shape(
  'SessionScript',
  {
    turns: list(nullable(list(CallScript, CALLS_PER_BATCH_MAX)), EACH_MAX, 1),
    acts: list(shape('Act', { atMs: ms, what: oneOf('what', ACTS) }), EACH_MAX),
    concurrency: integer('concurrency', 1, CONCURRENCY_MAX),
    calls: integer('calls', 1),
  },
  {
    tokens: nullable(integer('tokens', 1)),
    wallMs: nullable(integer('wallMs', 1)),
    askedMs: nullable(integer('askedMs', 1)),
    model: ModelScript,
    toolset: list(shape('ToolsetAct', { atMs: ms, what: oneOf('what', TOOLSET_ACTS) }), EACH_MAX),
  },
);

const ProcessFault = shape('ProcessFault', {
  atMs: ms,
  what: oneOf('what', PROCESS_FAULTS),
  bridge: integer('bridge', 0),
  ms: integer('milliseconds', -Number.MAX_SAFE_INTEGER),
});

const scenario: Codec<Scenario> = shape(
  'Scenario',
  {
    seed: integer('seed', Number.MIN_SAFE_INTEGER),
    bridges: integer('bridges', 1, EACH_MAX),
    files: flag,
    snapshots: flag,
    sessions: list(SessionScript, EACH_MAX, 1),
    messages: list(shape('MessageFault', { nth, what: oneOf('what', MESSAGE_FAULTS), ms }), EACH_MAX),
    disk: list(shape('DiskFault', { nth, what: oneOf('what', DISK_FAULTS), ms }), EACH_MAX),
    processes: list(ProcessFault, EACH_MAX),
  },
  {
    strangers: list(shape('StrangerAct', { atMs: ms, claims: oneOf('claims', STRANGER_CLAIMS) }), EACH_MAX),
    previews: flag,
  },
);

/** Throws a TypeError that says what is wrong, and where (RFC 6901). */
export function checkScenario(value: Scenario): void {
  const decoded = decode(scenario, value);
  if (isLeft(decoded)) throw new TypeError(`not a scenario: at "${decoded.left.path}": ${decoded.left.message}`);
}
