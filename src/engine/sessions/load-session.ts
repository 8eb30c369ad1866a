// Loads a session: starts at the newest snapshot that agrees with the stream and folds the events after it. It verifies
// every event digest and chain value, and the state digest at the end of each page of commits (`refold verify` checks
// every state digest). No store is trusted for integrity (docs/design.md, "Durability and crashes"): a snapshot that does
// not agree is not used, and a commit that does not verify is `damaged`, with the session and the position.
import { type Either, chain, filterOrElse, isLeft, left, mapLeft, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type * as T from 'fp-ts/lib/Task.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { genesisChain, genesisDigest, nextChain } from '../../core/chain.ts';
import { type Origin, checkGenesis, initialState, decodeGenesis } from '../../core/initial-state.ts';
import { knownPackage, readPackageInSteps } from '../../core/package-parts.ts';
import type { ReplayStart } from '../../core/replay.ts';
import { readSnapshot } from '../../core/snapshot.ts';
import { stateDigest } from '../../core/state-digest.ts';
import { foldEvent } from '../../core/step.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { RecordedEvent } from '../../../schemas/upcast.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { Digest, Position, SessionId, Version } from '../../../schemas/ids.ts';
import { freezeJson, parseJson } from '../../../schemas/json.ts';
import { BLOB_BYTES_MAX, READ_PAGE_EVENTS } from '../../../schemas/limits.ts';
import { versionAfter } from '../../../schemas/record.ts';
import { InvariantError, type Rejection, reject } from '../../../schemas/rejection.ts';
import type { Snapshot } from '../../../schemas/snapshot.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { ToolPackage } from '../../../schemas/tool-set.ts';
import type { Journal, JournalCommit } from '../../journal/journal.ts';
import { type Pause, inTurns } from '../../turns.ts';

export interface LoadedSession {
  readonly genesis: Genesis;
  readonly state: SessionState;
  readonly chain: Digest;
  readonly from: LoadedFrom;
}

/** Where a load began to fold. */
export interface LoadedFrom {
  /** The version of the snapshot it started from; 0 without one. */
  readonly version: Version;
  /** Characters of the events that were folded after it. */
  readonly chars: number;
  /** Newer snapshots that were wrong and not used. */
  readonly wrong: readonly Version[];
}

type Answer<T> = Promise<Either<Rejection, T>>;

/** What a load works with. It asks `pause` before each step that may be long, and while it folds. */
interface LoadPorts {
  readonly journal: Journal;
  readonly pause: Pause;
}

/** The newest good snapshot and the fold of the commits after it; without one, the fold of the whole stream. */
export const loadSession = (journal: Journal, pause: Pause, id: SessionId): Answer<LoadedSession> =>
  pipe(
    () => loadOrigin(journal, pause, id),
    TE.chain((origin) => () => findStart({ journal, pause }, origin)),
    TE.chain((start) => () => foldStream({ journal, pause }, start)),
  )();

async function foldStream({ journal, pause }: LoadPorts, start: LoadedSession): Answer<LoadedSession> {
  const id = start.genesis.session_id;
  let folded = start;
  let chars = 0;
  let reading = readAhead(journal, id, folded.state.version as number as Position);
  for (;;) {
    const page = await reading;
    if (isLeft(page)) return page;
    const last = page.right.at(-1);
    if (last === undefined) return right({ ...folded, from: { ...folded.from, chars } });
    // The store reads the next page while this one is folded.
    reading = readAhead(journal, id, versionAfter(last) as Position);
    const next = await foldCommits(folded, page.right, pause);
    if (isLeft(next)) return next;
    folded = next.right;
    for (const { events } of page.right) for (const { text } of events) chars += text.length;
  }
}

/** Starts to read a page. A failed read causes no unhandled rejection, even when the load has ended before. */
function readAhead(journal: Journal, id: SessionId, from: Position): Answer<readonly JournalCommit[]> {
  const reading = journal.read(id, from, READ_PAGE_EVENTS)();
  reading.catch(() => undefined);
  return reading;
}

/** Where to start: at the newest snapshot that agrees with the stream, or before the first event. */
async function findStart(ports: LoadPorts, origin: Origin): Answer<LoadedSession> {
  const { genesis, tool_package } = origin;
  await ports.pause();
  const initial = initialState(genesis, tool_package);
  const found = await findSnapshot(ports, genesis, initial);
  if (isLeft(found)) return found;
  const { snapshot, wrong } = found.right;
  if (snapshot !== null) {
    const { state, chain: link } = snapshot;
    return right({ genesis, state, chain: link, from: { version: state.version, chars: 0, wrong } });
  }
  await ports.pause();
  const start = createdSession(genesis, initial);
  return right({ ...start, from: { ...start.from, wrong } });
}

/**
 * The state that the newest good snapshot at this version or before it holds, and the chain value there; null when there is
 * none. It follows the stream from there as a load does.
 */
export const storedStart = (
  journal: Journal,
  pause: Pause,
  id: SessionId,
  atMost: number,
): Answer<ReplayStart | null> =>
  pipe(
    () => loadOrigin(journal, pause, id),
    TE.chain(
      ({ genesis, tool_package }) =>
        () =>
          findSnapshot({ journal, pause }, genesis, initialState(genesis, tool_package), atMost),
    ),
    TE.map(({ snapshot }) => snapshot),
  )();

/** The newest snapshot that agrees with the stream, up to a version, and the newer ones that do not. */
async function findSnapshot(
  ports: LoadPorts,
  genesis: Genesis,
  initial: SessionState,
  atMost = Infinity,
): Answer<{ readonly snapshot: ReplayStart | null; readonly wrong: readonly Version[] }> {
  const { journal, pause } = ports;
  const { session_id } = genesis;
  const kept = await journal.snapshots.versions(session_id)();
  // When snapshots cannot be read, the load only takes longer.
  const versions = isLeft(kept) ? [] : kept.right.filter((version) => version <= atMost);
  const wrong: Version[] = [];
  for (const version of versions) {
    const snapshot = await journal.snapshots.get(session_id, version)();
    if (isLeft(snapshot)) continue;
    await pause();
    const state = snapshot.right === null ? null : readSnapshot(snapshot.right);
    if (snapshot.right !== null && state?.genesis_digest === genesisDigest(genesis)) {
      const agrees = await agreesWithStream(ports, snapshot.right, initial);
      if (isLeft(agrees)) return agrees;
      if (agrees.right) return right({ snapshot: { state, chain: snapshot.right.chain }, wrong });
    }
    wrong.push(version);
  }
  return right({ snapshot: null, wrong });
}

/** A session before its first event, as a load of its stream would return it. */
export const createdSession = (genesis: Genesis, initial: SessionState): LoadedSession => ({
  genesis,
  state: initial,
  chain: genesisChain(initial),
  from: { version: initial.version, chars: 0, wrong: [] },
});

/** Whether the commit that a snapshot ends with has the snapshot's digests and continues the chain. */
const agreesWithStream = ({ journal, pause }: LoadPorts, snapshot: Snapshot, initial: SessionState): Answer<boolean> =>
  pipe(
    commitWith(journal, snapshot.session_id, snapshot.version - 1),
    TE.chainFirstTaskK(resting(pause)),
    TE.chain((last) => {
      const { version, state_digest, chain: link } = snapshot;
      if (last === undefined || versionAfter(last) !== (version as number)) return TE.right(false);
      if (last.chain !== link || last.state_digest !== state_digest) return TE.right(false);
      if (last.position === 0) return TE.right(linkAfter(genesisChain(initial), last) === link);
      return pipe(
        commitWith(journal, snapshot.session_id, last.position - 1),
        TE.map((before) => before !== undefined && linkAfter(before.chain, last) === link),
      );
    }),
    // The fold without this snapshot finds a damaged commit, and reports its position.
    TE.orElse((fault) => (fault.code === 'damaged' ? TE.right(false) : TE.left(fault))),
  )();

const commitWith = (
  journal: Journal,
  id: SessionId,
  position: number,
): TE.TaskEither<Rejection, JournalCommit | undefined> =>
  pipe(
    journal.read(id, position as Position, 1),
    TE.map(([commit]) => commit),
  );

/** What a stored stream begins with, checked. */
export const loadOrigin = (journal: Journal, pause: Pause, id: SessionId): Answer<Origin> =>
  pipe(
    journal.genesis(id),
    TE.chain((text) => originOf({ journal, pause }, id, text)),
  )();

const originOf = (ports: LoadPorts, id: SessionId, text: string): TE.TaskEither<Rejection, Origin> =>
  pipe(
    TE.fromTask(resting(ports.pause)()),
    TE.chainEitherK(() => parseGenesis(id, text)),
    TE.bindTo('genesis'),
    TE.bind('tool_package', ({ genesis }) => loadPackage(ports, genesis)),
    TE.chainFirstTaskK(resting(ports.pause)),
    TE.chainFirstEitherK(({ genesis, tool_package }) =>
      pipe(
        checkGenesis(genesis, tool_package),
        mapLeft((fault) => unreadable(id, -1, fault)),
      ),
    ),
  );

const parseGenesis = (id: SessionId, text: string): Either<Rejection, Genesis> =>
  pipe(
    parseJson(text, BLOB_BYTES_MAX),
    chain((value) => decodeGenesis(freezeJson(value))),
    filterOrElse(
      ({ session_id }) => session_id === id,
      () => reject('damaged', '', 'the genesis record belongs to another session'),
    ),
    mapLeft((fault) => unreadable(id, -1, fault)),
  );

/** The tool package of a genesis record. One that another session has in memory is not read again. */
function loadPackage(
  { journal, pause }: LoadPorts,
  { session_id, tool_package_digest: digest }: Genesis,
): TE.TaskEither<Rejection, ToolPackage> {
  const known = knownPackage(digest);
  if (known !== null) return TE.right(known);
  return pipe(
    journal.toolPackage(digest),
    TE.mapLeft((fault) => (fault.code === 'damaged' ? damagedBeginning(session_id)(fault) : fault)),
    TE.chainFirstTaskK(resting(pause)),
    TE.chain(
      (text) => () => inTurns(readPackageInSteps(text, digest), pause).then(mapLeft(damagedBeginning(session_id))),
    ),
  );
}

const damagedBeginning =
  (id: SessionId) =>
  ({ message }: Rejection): Rejection =>
    damaged(id, -1, message);

const resting = (pause: Pause) => (): T.Task<void> => async () => {
  await pause();
};

// Each chain value covers the recorded state digest, and the last state digest is compared with the whole state. When
// anything differs, the commits are checked one by one to find the first fault.
async function foldCommits(
  from: LoadedSession,
  commits: readonly JournalCommit[],
  pause: Pause,
): Answer<LoadedSession> {
  let { state, chain: link } = from;
  for (const commit of commits) {
    const folded = await foldCommit(state, commit, pause);
    if (isLeft(folded)) return left(await faultIn(from, commits, pause));
    link = linkAfter(link, commit);
    if (link !== commit.chain) return left(await faultIn(from, commits, pause));
    state = folded.right;
  }
  const last = commits.at(-1);
  await pause();
  const agrees = last === undefined || stateDigest(state) === last.state_digest;
  return agrees ? right({ ...from, state, chain: link }) : left(await faultIn(from, commits, pause));
}

/** The chain value after a commit, with the state digest that it records. */
const linkAfter = (before: Digest, { events, state_digest }: JournalCommit): Digest =>
  nextChain(
    before,
    events.map(({ text }) => digestText(text)),
    state_digest,
  );

/** The first of these commits that does not verify; the commits are known not to verify together. */
async function faultIn(
  { genesis, state: start, chain: head }: LoadedSession,
  commits: readonly JournalCommit[],
  pause: Pause,
): Promise<Rejection> {
  let [state, link] = [start, head];
  for (const commit of commits) {
    const at = (position: number, why: string): Rejection => damaged(genesis.session_id, position, why);
    const folded = await foldCommit(state, commit, pause);
    if (isLeft(folded)) return unreadable(genesis.session_id, folded.left.position, folded.left.fault);
    const last = versionAfter(commit) - 1;
    link = linkAfter(link, commit);
    if (link !== commit.chain) return at(last, 'the chain differs');
    if (stateDigest(folded.right) !== commit.state_digest) return at(last, 'the state digest differs');
    state = folded.right;
  }
  throw new InvariantError('commits that do not verify together verify one by one');
}

interface FoldFault {
  readonly position: number;
  readonly fault: Rejection;
}

/** The state after a commit, or which of its events cannot be folded. */
async function foldCommit(
  before: SessionState,
  { position, events }: JournalCommit,
  pause: Pause,
): Promise<Either<FoldFault, SessionState>> {
  if (position !== (before.version as number)) {
    const fault = reject('damaged', '', `the next commit has the position ${position}`);
    return left({ position: before.version, fault });
  }
  let state = before;
  for (const { text } of events) {
    const rest = pause();
    if (rest !== null) await rest;
    const parsed = parseJson(text, BLOB_BYTES_MAX);
    const folded = isLeft(parsed) ? parsed : foldSafely(state, parsed.right as unknown as RecordedEvent);
    if (isLeft(folded)) {
      const { code, message } = folded.left;
      const named = isLeft(parsed) || code === 'rules_unknown' ? message : `${code}: ${message}`;
      return left({ position: state.version, fault: { ...folded.left, message: named } });
    }
    ({ state } = folded.right);
  }
  return right(state);
}

// A commit that was tampered with may never have been admitted, so a fold that throws on it means damaged data.
function foldSafely(state: SessionState, event: RecordedEvent): ReturnType<typeof foldEvent> {
  try {
    return foldEvent(state, event);
  } catch {
    return left(reject('damaged', '', 'the event cannot be folded'));
  }
}

/** A session with rules that this version does not know is not damaged. */
const unreadable = (id: SessionId, position: number, { code, message }: Rejection): Rejection =>
  code === 'rules_unknown'
    ? reject(code, '', `session ${id}, position ${position}: ${message}`)
    : damaged(id, position, message);

const damaged = (id: SessionId, position: number, why: string): Rejection =>
  reject('damaged', '', `session ${id}, position ${position}: ${why}`);
