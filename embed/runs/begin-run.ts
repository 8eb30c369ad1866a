// Finds the session and the run that a caller asks for: a new one, or one that an earlier process left.
import { isLeft } from 'fp-ts/lib/Either.js';
import {
  type ConsentPolicy,
  type EventId,
  type Ingress,
  type RunConfigPatch,
  type RunId,
  SessionId,
  type SessionState,
  type ToolPackage,
  brand,
  decode,
  digestText,
  makeSessionId,
} from '../../schemas/index.ts';
import { type EngineClient, RejectedError, must, mustBe } from '../../src/client/index.ts';
import { type FoldedEvent, ownTools } from '../../src/core/index.ts';
import { storeText } from './contents.ts';
import type { Local } from './open-local.ts';
import { isSame } from './same-value.ts';

/** What a session is made with; an existing one gets the tools and the config, and keeps its policy. */
export interface SessionSetup {
  readonly tool_package: ToolPackage;
  readonly config: RunConfigPatch;
  readonly consent: ConsentPolicy;
}

export interface RunRequest {
  readonly prompt: string;
  readonly session: SessionId;
  /** Names the run within its session: with the same key, it is the same run. */
  readonly key?: string;
  /** Whether an unfinished run of the session is taken over. Otherwise it is refused as `run_already_active`. */
  readonly resume: boolean;
  /** The session had an unfinished run when this process opened it; that run may be over by now. */
  readonly wasUnfinished: boolean;
  /** Replaces fields of the config for this run. */
  readonly overrides?: RunConfigPatch;
}

export interface RunStart {
  readonly session: SessionId;
  /** The state that the stream is folded on from; null for a run that began earlier, whose stream is folded from its start. */
  readonly from: SessionState | null;
  /** True for the event with which the run begins. */
  readonly begins: (folded: FoldedEvent) => boolean;
  /** The run began earlier, in this process or another. */
  readonly resumed: boolean;
  /** The version of the session by now: what is older has happened already. */
  readonly version: number;
}

/** The id of a session that a caller names, or a new one. Throws a RejectedError for a name that cannot be an id. */
export const chooseSession = ({ clock, newId }: Pick<Local, 'clock' | 'newId'>, named?: string): SessionId =>
  named === undefined ? makeSessionId(clock.now(), newId()) : mustBe(decode(SessionId, named));

/** Creates the session, or brings it up to date; then finds or starts the run. Throws a RejectedError when refused. */
export async function beginRun(client: EngineClient, setup: SessionSetup, request: RunRequest): Promise<RunStart> {
  const { session } = request;
  await makeSession(client, setup, session);
  const { state } = await must(client.session(session));
  const { version } = state;
  const left = request.resume && request.key === undefined ? unfinishedRun(state, request) : null;
  if (left !== null) {
    const begins = ({ after }: FoldedEvent): boolean => after.run?.run_id === left;
    return { session, from: null, begins, resumed: true, version };
  }
  const receipt = await must(client.submit(session, { events: [await runRequested(client, request)] }));
  const [appended] = receipt.events;
  const resumed = appended?.repeated === true;
  const begins = ({ position }: FoldedEvent): boolean => position === appended?.position;
  return { session, from: resumed ? null : state, begins, resumed, version: resumed ? receipt.version : version };
}

const unfinishedRun = ({ run, run_history }: SessionState, { wasUnfinished }: RunRequest): RunId | null =>
  run?.run_id ?? (wasUnfinished ? (run_history.at(-1)?.run_id ?? null) : null);

/** Names a run: a digest, because an event id takes no spaces and has at most 128 characters. */
export const runEventId = (key: string): EventId => brand<'EventId'>(`run/${digestText(key)}`);

async function runRequested(client: EngineClient, { prompt, key, overrides }: RunRequest): Promise<Ingress> {
  return {
    kind: 'RunRequested',
    input: await storeText(client, prompt),
    ...(key === undefined ? {} : { event_id: runEventId(key) }),
    ...(overrides === undefined ? {} : { run_overrides: overrides }),
  };
}

/** Creates the session, or brings its tools and config up to date. Throws a RejectedError when refused. */
export async function makeSession(client: EngineClient, setup: SessionSetup, session: SessionId): Promise<void> {
  const created = await client.createSession({ session_id: session, ...setup })();
  if (!isLeft(created)) return;
  if (created.left.code !== 'session_exists') throw new RejectedError(created.left);
  const { state } = await must(client.session(session));
  const events = updatesOf(state, setup);
  if (events.length > 0) await must(client.submit(session, { events }));
}

/** What has changed in the program since the session was made. */
function updatesOf(state: SessionState, { tool_package, config }: SessionSetup): Ingress[] {
  const { registry, profiles, provider_profiles } = tool_package;
  const recorded = [ownTools(state), Object.values(state.tool_profiles), state.provider_profiles] as const;
  const given = [registry, profiles, provider_profiles] as const;
  const changed = Object.entries(config).filter(
    ([field, value]) => !isSame(value, state.config[field as keyof RunConfigPatch]),
  );
  return [
    ...(isSame(inOrder(recorded), inOrder(given))
      ? []
      : [{ kind: 'ToolRegistrySet', registry, profiles, provider_profiles } as const]),
    ...(changed.length === 0 ? [] : [{ kind: 'SessionConfigured', config: Object.fromEntries(changed) } as const]),
  ];
}

type Package = readonly [ToolPackage['registry'], ToolPackage['profiles'], ToolPackage['provider_profiles']];

/** State keeps tools and profiles by id; the order of provider profiles has a meaning. */
const inOrder = ([registry, profiles, providers]: Package) => [
  Object.fromEntries(registry.map((spec) => [spec.tool_id, spec])),
  Object.fromEntries(profiles.map((profile) => [profile.profile_id, profile])),
  providers,
];
