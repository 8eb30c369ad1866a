// Reports the toolsets of this bridge to the sessions that it serves: to each when it first works for it, and to all of them when a
// toolset changes. A session that has the same definitions already is not told again.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import { digestText } from '../../schemas/canonical.ts';
import type { OwnerId, SessionId } from '../../schemas/ids.ts';
import { REPORTED_SESSIONS_MAX, TOOLS_REFUSED_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { storeContent } from '../../src/client/store-content.ts';
import type { DefinedTool } from '../../src/skills/skill-tools.ts';
import { toolsetSet } from '../../src/skills/toolset-event.ts';
import type { Link } from '../engine-link/link.ts';
import type { Log } from '../log.ts';

/** A toolset as its source has it now. */
export interface OfferedToolset {
  /** Its name, with which the ids of its tools begin. */
  readonly toolset: string;
  /** All of its tools. */
  readonly tools: readonly DefinedTool[];
  /** `first`: while nothing of the toolset is approved, these definitions are, at once. */
  readonly trust: 'first' | null;
}

/** What has tools for sessions that are not in their packages. */
export interface ToolsetSource {
  /** Who sets the toolsets, by a name that stays from process to process. */
  readonly owner: OwnerId;
  /** Another number whenever the toolsets are others. */
  version(): number;
  /** What they are now. */
  toolsets(): readonly OfferedToolset[];
}

export interface ToolsetReports {
  /** Resolves when the session has the present toolsets, or has refused them. */
  ensure(session: SessionId): Promise<void>;
  /** Tells the sessions that were told before. */
  changed(): void;
}

interface ReportsOptions {
  readonly client: EngineClient;
  readonly owner: OwnerId;
  readonly link: Link;
  readonly log: Log;
  readonly sources: readonly ToolsetSource[];
}

export function newToolsetReports(options: ReportsOptions): ToolsetReports {
  const { sources } = options;
  /** What each session was told last, and the report of it; the session that was told first comes first. */
  const told = new Map<SessionId, { readonly versions: string; readonly telling: Promise<void> }>();

  function tell(session: SessionId): Promise<void> {
    const versions = sources.map((source) => source.version()).join(' ');
    const before = told.get(session);
    if (before?.versions === versions) return before.telling;
    const telling = (before?.telling ?? Promise.resolve()).then(() => report(options, session));
    told.delete(session);
    told.set(session, { versions, telling });
    const [oldest] = told.keys();
    if (told.size > REPORTED_SESSIONS_MAX && oldest !== undefined) told.delete(oldest);
    return telling;
  }

  return {
    ensure: (session) => (sources.length === 0 ? NOTHING : tell(session)),
    changed() {
      for (const session of told.keys()) void tell(session);
    },
  };
}

const NOTHING = Promise.resolve();

/** Never rejects: a session that refuses a toolset goes on with its other tools. */
async function report(options: ReportsOptions, session: SessionId): Promise<void> {
  const { client, link, sources } = options;
  const view = await link.ask('session', () => client.session(session));
  if (isLeft(view)) return;
  for (const source of sources) {
    for (const offered of source.toolsets()) {
      await setToolset(options, view.right.state, { ...offered, setBy: source.owner });
    }
  }
}

type SetToolset = OfferedToolset & { readonly setBy: OwnerId };

/** A tool that the engine refuses is left out, and hurts no other. */
async function setToolset(options: ReportsOptions, state: SessionState, offered: SetToolset): Promise<void> {
  const { log } = options;
  const { toolset } = offered;
  let { tools } = offered;
  for (let refusals = 0; refusals <= TOOLS_REFUSED_MAX && !isSame(state, { toolset, tools }); refusals += 1) {
    const answer = await submitToolset(options, state.session_id, { ...offered, tools });
    if (!isLeft(answer)) {
      log({ event: 'toolset_set', session_id: state.session_id, toolset, tools: tools.length });
      return;
    }
    const { code, path, message } = answer.left;
    log({ event: 'toolset_refused', session_id: state.session_id, toolset, code, message: `${message} (at ${path})` });
    const [, refused] = /^\/events\/0\/tools\/(\d+)\//.exec(path) ?? [];
    if (refused === undefined) return;
    tools = tools.filter((_, index) => index !== Number(refused));
  }
}

async function submitToolset(
  { client, owner, link }: Pick<ReportsOptions, 'client' | 'owner' | 'link'>,
  session: SessionId,
  offered: SetToolset,
): Promise<Either<Rejection, unknown>> {
  const made = await link.ask('put_blob', () => toolsetSet(offered, (text) => storeContent(client, text)));
  if (isLeft(made)) return made;
  return await link.ask('submit', () => client.submit(session, { events: [made.right], owner }));
}

/** Whether the session has exactly these definitions. A toolset that it never had and that is empty need not be set. */
function isSame({ toolsets = {} }: SessionState, { toolset, tools }: Omit<OfferedToolset, 'trust'>): boolean {
  const known = Object.hasOwn(toolsets, toolset) ? toolsets[toolset] : undefined;
  if (known === undefined) return tools.length === 0;
  return (
    Object.keys(known.tools).length === tools.length &&
    tools.every(({ spec, definition }) => known.tools[spec.tool_id] === digestText(definition))
  );
}
