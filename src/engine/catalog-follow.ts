// The catalog of an engine in its sessions. A new session gets it before anything else, and follows it from then on: when the catalog
// is another one, the session gets it before the next request that it handles, and at once when it owes a bridge something.
// So a read never writes, and a session that has the present catalog costs a look-up. Sessions that were created without a
// catalog do not follow one.
import { isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { digestText } from '../../schemas/canonical.ts';
import type { Content } from '../../schemas/content.ts';
import type { Digest } from '../../schemas/ids.ts';
import { EXCERPT_CHARS, INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { Toolset } from '../../schemas/toolset.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { DefinedTool } from '../skills/skill-tools.ts';
import { CATALOG_OWNER, toolsetSet } from '../skills/toolset-event.ts';
import type { LiveSession } from './append/live-session.ts';
import { type TellFault, tellError } from './faults.ts';

/** The tools of a catalog, as `readCatalog` gives them. */
export interface CatalogTools {
  /** In the order of their ids. */
  readonly tools: readonly DefinedTool[];
  /** Of all definitions. */
  readonly digest: Digest;
}

export interface CatalogFollow {
  /** The catalog from now on. */
  set(catalog: CatalogTools): void;
  /** Gives a session that follows an earlier catalog the present one. Never rejects; a refusal is told, and not repeated. */
  freshen(session: LiveSession): Promise<void> | null;
  /** Gives a session that was just created the present catalog. */
  begin(session: LiveSession): Promise<void> | null;
}

interface FollowPorts {
  readonly blobs: Blobs;
  readonly tellFault: TellFault;
}

/** The size that the event counts with in the queue of a session, in bytes: its content is shared by all sessions. */
const EVENT_BYTES = 4_096;

export function newCatalogFollow({ blobs, tellFault }: FollowPorts, first: CatalogTools | null): CatalogFollow {
  let current = first;
  /** The slots of sessions that are known to hold the present catalog, or to have refused it. */
  let settled = new WeakSet<Toolset>();
  const giving = new WeakMap<LiveSession, Promise<void>>();

  const store =
    (text: string): TaskEither<Rejection, Content> =>
    async () => {
      if (text.length <= INLINE_CHARS_MAX) return right({ text });
      const bytes = new TextEncoder().encode(text);
      const stored = await blobs.put(bytes)();
      if (isLeft(stored)) return left(stored.left);
      const head = text.slice(0, EXCERPT_CHARS).toWellFormed();
      return right({ ref: stored.right, bytes: bytes.length, head, tail: text.slice(-EXCERPT_CHARS).toWellFormed() });
    };

  async function give(session: LiveSession, { tools }: CatalogTools): Promise<void> {
    const refused = (reason: string): void =>
      tellFault({ session_id: session.id, doing: 'setting the catalog', reason });
    try {
      const event = await toolsetSet({ toolset: 'catalog', tools, trust: 'first', setBy: CATALOG_OWNER }, store)();
      if (isLeft(event)) return refused(event.left.message);
      const receipt = await session.submit({ events: [event.right] }, EVENT_BYTES);
      if (receipt !== null && isLeft(receipt)) refused(receipt.left.message);
    } catch (error) {
      tellError(tellFault, session.id, 'setting the catalog', error);
    }
  }

  async function giveAfter(
    given: Promise<void> | undefined,
    session: LiveSession,
    catalog: CatalogTools,
  ): Promise<void> {
    await given;
    if (current === catalog) await give(session, catalog);
    const slot = slotOf(session.state());
    if (slot !== null && current === catalog) settled.add(slot);
    giving.delete(session);
  }

  function giveOnce(session: LiveSession, catalog: CatalogTools): Promise<void> {
    const next = giveAfter(giving.get(session), session, catalog);
    giving.set(session, next);
    return next;
  }

  return {
    set(catalog) {
      if (catalog.digest === current?.digest) return;
      current = catalog;
      settled = new WeakSet();
    },
    freshen(session) {
      if (current === null) return null;
      const slot = slotOf(session.state());
      if (slot === null || settled.has(slot)) return null;
      if (!isSame(slot, current)) return giving.get(session) ?? giveOnce(session, current);
      settled.add(slot);
      return null;
    },
    begin: (session) => (current === null ? null : giveOnce(session, current)),
  };
}

const slotOf = ({ toolsets }: SessionState): Toolset | null =>
  toolsets !== undefined && Object.hasOwn(toolsets, 'catalog') ? (toolsets['catalog'] ?? null) : null;

const isSame = ({ tools: known }: Toolset, { tools }: CatalogTools): boolean =>
  Object.keys(known).length === tools.length &&
  tools.every(({ spec, definition }) => known[spec.tool_id] === digestText(definition));
