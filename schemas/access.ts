// Who may do what: one table of event kinds and one of routes, each row with the scopes that may use it. The engine's HTTP
// server registers its routes from this table, and every client is held to it (`src/client/with-access.ts`).
import { type TypeOf, list, oneOf, shape, text } from './codec.ts';
import { INGRESS_KINDS, type IngressKind } from './event.ts';
import { TOOLS_MAX } from './limits.ts';

/**
 * What a token is for. `operator`: decides, for people and applications. `bridge`: leases effects, and reports on them.
 * `viewer`: reads.
 */
export const Scope = oneOf('Scope', ['operator', 'bridge', 'viewer']);
export type Scope = TypeOf<typeof Scope>;

export const SCOPES: readonly Scope[] = ['operator', 'bridge', 'viewer'];

/** The name of a token: it names a file, and its events are recorded as `by` this name. */
export const TokenName = text('TokenName', { min: 1, max: 64, pattern: /^[A-Za-z0-9][A-Za-z0-9_-]*$/ });
export type TokenName = TypeOf<typeof TokenName>;

/**
 * What a holder of a token may do. `name`: recorded as the `by` of its events. `kinds`, of an operator: the only event
 * kinds it may submit; of the routes it then has those that read, submit and store blobs. `tools`: the only tools whose
 * calls it may answer, by tool id, exact or ending in `*`; its kinds are then all of {@link ANSWERING_KINDS}.
 */
export const Access = shape(
  'Access',
  { scope: Scope },
  {
    name: TokenName,
    kinds: list(
      oneOf('event kind', INGRESS_KINDS as readonly [IngressKind, ...IngressKind[]]),
      INGRESS_KINDS.length,
      1,
    ),
    tools: list(text('tool pattern', { min: 1, max: 128 }), TOOLS_MAX, 1),
  },
);
export type Access = TypeOf<typeof Access>;

/** Everything that a client of the engine may do. */
export const OPERATOR: Access = { scope: 'operator' };
export const BRIDGE: Access = { scope: 'bridge' };
export const VIEWER: Access = { scope: 'viewer' };

const OPERATORS: readonly Scope[] = ['operator'];
/** Reports on leased effects: they also name the owner and the epoch of the lease. */
const REPORTERS: readonly Scope[] = ['operator', 'bridge'];
/** The engine alone reports it. */
const ENGINE: readonly Scope[] = [];

/** The scopes that may submit an event of each kind. */
export const KIND_SCOPES: Readonly<Record<IngressKind, readonly Scope[]>> = {
  RunRequested: OPERATORS,
  ToolCallsObserved: REPORTERS,
  GenerateFailed: REPORTERS,
  ContextCompacted: REPORTERS,
  CompactFailed: REPORTERS,
  ToolCallStarted: REPORTERS,
  ToolCallSettled: REPORTERS,
  ToolBatchSettled: REPORTERS,
  LeaseExpired: ENGINE,
  CallPreviewed: REPORTERS,
  ToolCallNoted: REPORTERS,
  ToolCallAsked: REPORTERS,
  HostSessionUpdated: REPORTERS,
  ToolRegistrySet: OPERATORS,
  ToolsetSet: REPORTERS,
  ToolsetApproved: OPERATORS,
  ToolsetRemoved: OPERATORS,
  ToolProfileSelected: OPERATORS,
  ToolOverridesSet: OPERATORS,
  SessionConfigured: OPERATORS,
  RunSteered: OPERATORS,
  FollowUpQueued: OPERATORS,
  RunPaused: OPERATORS,
  RunResumed: OPERATORS,
  RunCancelled: OPERATORS,
  RunCompleted: OPERATORS,
  RunFailed: OPERATORS,
  ConsentPolicySet: OPERATORS,
  RulesAdopted: OPERATORS,
  'user.tool_confirmation': OPERATORS,
  'user.custom_tool_result': OPERATORS,
  'user.elicitation_result': OPERATORS,
  'user.interrupt': OPERATORS,
  UndoRequested: OPERATORS,
  UndoSettled: REPORTERS,
  TimeReached: ENGINE,
};

/** The kinds that answer an open call: a token can be narrowed to the tools of these calls. */
export const ANSWERING_KINDS = [
  'user.tool_confirmation',
  'user.custom_tool_result',
  'user.elicitation_result',
] as const;

/** Why an access is of no use as it is; null for a useful one. */
export function accessFault({ scope, kinds, tools }: Omit<Access, 'name'>): string | null {
  if (kinds !== undefined && scope !== 'operator')
    return `only an operator token is for some kinds, not one of ${scope}`;
  const useless = kinds?.find((kind) => !KIND_SCOPES[kind].includes(scope));
  if (useless !== undefined) return `${useless} is reported by the engine alone; leave it out`;
  if (tools === undefined) return null;
  const answers = kinds?.every((kind) => (ANSWERING_KINDS as readonly IngressKind[]).includes(kind)) ?? false;
  return answers ? null : `a token for some tools needs the kinds that answer a call: ${ANSWERING_KINDS.join(', ')}`;
}

/** The kinds that say who sent them. */
export const SIGNED_KINDS: ReadonlySet<IngressKind> = new Set<IngressKind>([
  'ConsentPolicySet',
  'RulesAdopted',
  'ToolsetApproved',
  'ToolsetRemoved',
  'user.tool_confirmation',
  'user.custom_tool_result',
  'user.elicitation_result',
  'user.interrupt',
]);

export interface Route {
  readonly method: 'DELETE' | 'GET' | 'POST';
  readonly path: `/${string}`;
  readonly scopes: readonly Scope[];
  /** Whether a token that is narrowed to some kinds has it, too. */
  readonly narrowed: boolean;
}

const ANYONE: readonly Scope[] = SCOPES;

const read = (path: Route['path']): Route => ({ method: 'GET', path, scopes: ANYONE, narrowed: true });
const post = (path: Route['path'], scopes: readonly Scope[], narrowed = false): Route => ({
  method: 'POST',
  path,
  scopes,
  narrowed,
});

/**
 * Every route that needs a token, by the method of `EngineClient` that it serves; `submits` serves several submits at once,
 * `stream` the events of a client stream (`src/core/stream/`), `metrics` the figures of the process, the last three the pages
 * that have a token (`schemas/pages.ts`).
 */
export const ROUTES = {
  info: read('/v1'),
  sessions: read('/v1/sessions'),
  createSession: post('/v1/sessions', OPERATORS),
  deleteSession: { method: 'DELETE', path: '/v1/sessions/:id', scopes: OPERATORS, narrowed: false },
  deletedSessions: read('/v1/deleted-sessions'),
  session: read('/v1/sessions/:id'),
  submit: post('/v1/sessions/:id/events', REPORTERS, true),
  followCommits: read('/v1/sessions/:id/events'),
  stream: read('/v1/sessions/:id/stream'),
  postDeltas: post('/v1/sessions/:id/deltas', REPORTERS),
  records: read('/v1/sessions/:id/records'),
  fork: post('/v1/sessions/:id/forks', OPERATORS),
  submits: post('/v1/submits', REPORTERS, true),
  lease: post('/v1/leases', REPORTERS),
  heartbeat: post('/v1/leases/heartbeat', REPORTERS),
  release: post('/v1/leases/release', REPORTERS),
  putBlob: post('/v1/blobs', REPORTERS, true),
  joinBlobs: post('/v1/blobs/join', REPORTERS, true),
  getBlob: read('/v1/blobs/:ref'),
  // It reads everything, whatever a token is narrowed to.
  backup: { method: 'GET', path: '/v1/backup', scopes: OPERATORS, narrowed: false },
  metrics: read('/metrics'),
  askCode: post('/v1/codes', OPERATORS),
  pages: { method: 'GET', path: '/v1/pages', scopes: OPERATORS, narrowed: false },
  endPage: { method: 'DELETE', path: '/v1/pages/:id', scopes: OPERATORS, narrowed: false },
} as const satisfies Readonly<Record<string, Route>>;

export type RouteName = keyof typeof ROUTES;
