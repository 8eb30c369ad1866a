// Holds a client to an access (schemas/access.ts): it may use only the routes and submit only the event kinds of its scope.
// Applied twice, a client may do only what both accesses allow. The engine's own client is held to `OPERATOR`.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import {
  ANSWERING_KINDS,
  type Access,
  KIND_SCOPES,
  ROUTES,
  type RouteName,
  SIGNED_KINDS,
  type Scope,
} from '../../schemas/access.ts';
import type { Ingress, IngressKind } from '../../schemas/event.ts';
import type { SessionId } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { ADMISSIONS_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { Submit, SubmitReceipt } from '../../schemas/wire.ts';
import type { EngineClient } from './client.ts';
import { FollowRefused } from './follow-refused.ts';
import { markUnshared, unsharedBytes } from './wire-text.ts';

/** The client of an access. */
export function withAccess(client: EngineClient, access: Access): EngineClient {
  const held =
    <Given extends readonly unknown[], A>(route: RouteName, method: (...given: Given) => TaskEither<Rejection, A>) =>
    (...given: Given): TaskEither<Rejection, A> => {
      const refusal = refuseRoute(access, route);
      return refusal === null ? method(...given) : () => Promise.resolve(left(refusal));
    };
  const following =
    <Given extends readonly unknown[], A>(route: RouteName, method: (...given: Given) => AsyncIterable<A>) =>
    (...given: Given): AsyncIterable<A> => {
      const refusal = refuseRoute(access, route);
      return refusal === null ? method(...given) : refusedToFollow(refusal);
    };
  const stored = client.storedStart?.bind(client);
  return {
    ...(stored === undefined ? {} : { storedStart: held('session', stored) }),
    info: held('info', () => client.info()),
    createSession: held('createSession', (...given) => client.createSession(...given)),
    fork: held('fork', (...given) => client.fork(...given)),
    sessions: held('sessions', (...given) => client.sessions(...given)),
    deleteSession: held('deleteSession', (...given) => client.deleteSession(...given)),
    deletedSessions: held('deletedSessions', (...given) => client.deletedSessions(...given)),
    backup: following('backup', (...given) => client.backup(...given)),
    session: held('session', (...given) => client.session(...given)),
    submit: held('submit', (id, request) => () => submit({ client, access }, id, request)),
    records: held('records', (...given) => client.records(...given)),
    follow: following('followCommits', (...given) => client.follow(...given)),
    followCommits: following('followCommits', (...given) => client.followCommits(...given)),
    followLive: following('followCommits', (...given) => client.followLive(...given)),
    postDeltas: held('postDeltas', (...given) => client.postDeltas(...given)),
    lease: held('lease', (...given) => client.lease(...given)),
    heartbeat: held('heartbeat', (...given) => client.heartbeat(...given)),
    release: held('release', (...given) => client.release(...given)),
    putBlob: held('putBlob', (...given) => client.putBlob(...given)),
    joinBlobs: held('joinBlobs', (...given) => client.joinBlobs(...given)),
    getBlob: held('getBlob', (...given) => client.getBlob(...given)),
    close: () => client.close(),
  };
}

/** `forbidden_scope` when this access does not have the route, else null. */
export function refuseRoute({ scope, kinds }: Access, route: RouteName): Rejection | null {
  const { method, path, scopes, narrowed } = ROUTES[route];
  if (!scopes.includes(scope)) return forbidden('', `${method} ${path}`, scopes, scope);
  if (kinds === undefined || narrowed) return null;
  const message = `${method} ${path} needs an operator token for every event kind; this one is only for ${kinds.join(', ')}`;
  return reject('forbidden_scope', '', message);
}

/** `forbidden_scope` when this access does not have the event kind, else null. */
function refuseKind({ scope, kinds }: Access, kind: IngressKind): Rejection | null {
  const scopes = KIND_SCOPES[kind];
  if (!scopes.includes(scope)) return forbidden('/kind', kind, scopes, scope);
  if (kinds === undefined || kinds.includes(kind)) return null;
  return reject(
    'forbidden_scope',
    '/kind',
    `${kind} needs an operator token for it; this one is only for ${kinds.join(', ')}`,
  );
}

function forbidden(path: string, what: string, scopes: readonly Scope[], scope: Scope): Rejection {
  const needs = scopes.length === 0 ? 'is reported by the engine alone' : `needs the scope ${scopes.join(' or ')}`;
  return reject('forbidden_scope', path, `${what} ${needs}; this client has the scope ${scope}`);
}

interface Holder {
  readonly client: EngineClient;
  readonly access: Access;
}

async function submit(holder: Holder, id: SessionId, request: Submit): Promise<Either<Rejection, SubmitReceipt>> {
  const asked = isRestricted(holder.access) ? readOnce(request) : request;
  for (let tries = 1; ; tries += 1) {
    const admitted = await admit(holder, id, asked);
    if (isLeft(admitted)) return admitted;
    const receipt = await holder.client.submit(id, admitted.right)();
    // The version is the client's own wish, or that at which the calls were looked at.
    const moved = isLeft(receipt) && receipt.left.code === 'version_conflict' && holder.access.tools !== undefined;
    if (!moved || asked.expected_version !== undefined || tries === ADMISSIONS_MAX) return receipt;
  }
}

const isRestricted = ({ scope, kinds }: Access): boolean => scope !== 'operator' || kinds !== undefined;

/** A copy whose fields are values: what was checked is what is sent, also if a field of the request is computed. */
function readOnce(request: Submit): Submit {
  if (!isPlainObject(request)) return request;
  const copy = { ...request };
  const events: unknown = copy.events;
  if (!Array.isArray(events)) return copy;
  return remarked(request, {
    ...copy,
    events: (events as readonly Ingress[]).map((event) => (isPlainObject(event) ? { ...event } : event)),
  });
}

/** The request as its sender may make it: signed with its name. What is not a submit at all is left for the engine to refuse. */
async function admit({ client, access }: Holder, id: SessionId, request: Submit): Promise<Either<Rejection, Submit>> {
  const events: unknown = isPlainObject(request) ? request.events : undefined;
  if (!Array.isArray(events) || events.length === 0) return right(request);
  for (const [index, event] of (events as readonly unknown[]).entries()) {
    const kind = kindOf(event);
    const refusal = kind === null ? null : refuseKind(access, kind);
    if (refusal !== null) return left({ ...refusal, path: `/events/${index}${refusal.path}` });
  }
  const leases = request.owner !== undefined || request.leases !== undefined || request.lease !== undefined;
  const refusal = leases ? refuseRoute(access, 'lease') : null;
  if (refusal !== null) return left({ ...refusal, path: '/owner' });
  if (access.scope === 'bridge' && request.owner === undefined) {
    const message =
      'a bridge names itself as the owner in every submit, and the epoch of each lease that it reports on';
    return left(reject('lease_required', '/owner', message));
  }
  const signed = access.name === undefined ? request : sign(request, access.name);
  return access.tools === undefined ? right(signed) : await onlyOfTools({ client, access }, id, signed);
}

const kindOf = (event: unknown): IngressKind | null => {
  const kind = isPlainObject(event) ? event['kind'] : undefined;
  return typeof kind === 'string' && Object.hasOwn(KIND_SCOPES, kind) ? (kind as IngressKind) : null;
};

function sign(request: Submit, by: string): Submit {
  const events = request.events.map((event): Ingress => {
    const kind = kindOf(event);
    return kind !== null && SIGNED_KINDS.has(kind) ? ({ ...event, by } as Ingress) : event;
  });
  return remarked(request, { ...request, events });
}

const remarked = (from: Submit, to: Submit): Submit => {
  const bytes = unsharedBytes(from);
  return bytes === undefined ? to : markUnshared(to, bytes);
};

/**
 * The request bound to the version at which every call it answers is seen to be of these tools. An answer to a call that
 * is not open is left for the engine, which knows whether it was given before; at that version it answers no other call.
 */
async function onlyOfTools(
  { client, access }: Holder,
  id: SessionId,
  request: Submit,
): Promise<Either<Rejection, Submit>> {
  const view = await client.session(id)();
  if (isLeft(view)) return view;
  const { state } = view.right;
  const { expected_version = state.version } = request;
  if (expected_version !== state.version) {
    const message = `the session is at version ${state.version}, not at the expected ${expected_version}`;
    return left(reject('version_conflict', '/expected_version', message));
  }
  const patterns = access.tools ?? [];
  for (const [index, event] of request.events.entries()) {
    const tool = toolOf(state, event);
    if (tool === null || patterns.some((pattern) => fits(pattern, tool))) continue;
    const message = `${tool} needs an operator token for it; this one is only for ${patterns.join(', ')}`;
    return left(reject('forbidden_scope', `/events/${index}/call_id`, message));
  }
  return right(remarked(request, { ...request, expected_version }));
}

/** The tool of the open call that an event answers; null when no such call is open. */
function toolOf({ active_tool_batch: batch }: SessionState, event: unknown): string | null {
  if (batch === null || !isPlainObject(event) || !(ANSWERING_KINDS as readonly unknown[]).includes(event['kind']))
    return null;
  if (event['batch_id'] !== batch.batch_id) return null;
  const planned = batch.plan.planned_calls.find(({ call_id }) => call_id === event['call_id']);
  return planned?.tool_id ?? null;
}

const fits = (pattern: string, tool: string): boolean =>
  pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern;

/** An iterable whose first step throws the refusal. */
const refusedToFollow = (refusal: Rejection): AsyncIterable<never> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new FollowRefused(refusal)) }),
});
