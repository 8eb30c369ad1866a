// Answers the asks of the page. Each is answered by itself, while sources go on folding in slices.
import type { Scope } from '../../schemas/access.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { RejectedError } from '../../src/client/rejected-error.ts';
import { actOn } from '../people/act.ts';
import { answerQuestion } from '../people/answer.ts';
import { withLink } from '../people/engine-link.ts';
import { type WaitingCalls, newWaitingCalls } from '../people/waiting.ts';
import type {
  AnswerTo,
  AskMessage,
  AskName,
  ConnectTo,
  FromWorker,
  Given,
  MarkWanted,
  Refusal,
  SessionRow,
  SessionsPage,
  SessionsWanted,
  ToWorker,
} from '../protocol.ts';
import { SourceFault } from '../records/record-source.ts';
import { blobText, bytesOfBlob } from './blobs.ts';
import { checkAllBlobs } from './blobs-verdict.ts';
import { callDetail, changedFile, undoFiles } from './calls.ts';
import { compareSources } from './compare.ts';
import { compareHead, readHead } from './head-verdict.ts';
import { bitsOf } from './marks.ts';
import { type OpenedSources, newOpenedSources } from './opened-sources.ts';
import { Refused, refusalOf } from './refused.ts';
import { eventAt, rowsIn } from './rows.ts';
import { factsOf } from './session-facts.ts';
import { Stopped } from './slices.ts';
import type { StreamFold } from './stream-fold.ts';
import { findPaths, stateDiff, statePart } from './state-parts.ts';
import { waitingToolsets } from './toolsets.ts';
import { toolsAt } from './tools.ts';
import { turnDetail, turnsIn } from './turns.ts';
import { alternativesOf, decideAgain, exportOf, whatIfWindow } from './what-if.ts';
import { windowOf } from './windows.ts';

/** What the worker, or a test, gives. */
export interface InspectorHost {
  readonly post: (message: FromWorker) => void;
  readonly connect: (url: string, token: string) => EngineClient;
}

export interface Inspector {
  /** Takes a message of the page; resolves when it was answered. */
  take(message: ToWorker): Promise<void>;
  close(): Promise<void>;
}

interface Engine {
  readonly client: EngineClient;
  readonly by: string;
  readonly scope: Scope;
  readonly waiting: WaitingCalls;
}

/** What the answers need. */
interface Held {
  engine: Engine | null;
  readonly sources: OpenedSources;
  readonly host: InspectorHost;
}

export function newInspector(host: InspectorHost): Inspector {
  const asked = new Map<number, AbortController>();
  const held: Held = {
    engine: null,
    host,
    sources: newOpenedSources({
      post: (news) => host.post({ news }),
      client: () => held.engine?.client ?? null,
      mayAct: () => held.engine?.scope === 'operator',
    }),
  };

  async function answer<A extends AskName>(message: AskMessage & { readonly ask: A }): Promise<void> {
    const { number, ask } = message;
    const withdrawn = new AbortController();
    asked.set(number, withdrawn);
    try {
      const answered = await ANSWERS[ask](held, message.given, withdrawn.signal);
      if (!withdrawn.signal.aborted) host.post({ number, ask, answer: answered } as FromWorker);
    } catch (error) {
      if (!withdrawn.signal.aborted) host.post({ number, refused: refusalIn(error) });
    } finally {
      asked.delete(number);
    }
  }

  return {
    async take(message) {
      if ('withdraw' in message) asked.get(message.withdraw)?.abort();
      else await answer(message);
    },
    async close() {
      for (const { number } of held.sources.all()) held.sources.close(number);
      await held.engine?.client.close();
    },
  };
}

function refusalIn(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof RejectedError) return refusalOf(error.rejection);
  if (error instanceof SourceFault) return { code: 'unreadable', message: error.message, advice: '' };
  if (error instanceof Stopped) return { code: 'no_source', message: 'the source was closed', advice: '' };
  return refusalOf({ code: 'internal', message: error instanceof Error ? error.message : String(error) });
}

type Answers = {
  readonly [A in AskName]: (held: Held, given: Given<A>, signal: AbortSignal) => AnswerTo<A> | Promise<AnswerTo<A>>;
};

const foldOf = ({ sources }: Held, { source }: { readonly source: number }) => sources.at(source).fold;

function engineOf({ engine }: Held): Engine {
  if (engine !== null) return engine;
  throw new Refused({
    code: 'no_engine',
    message: 'no engine is connected',
    advice: 'Start the page with refold open.',
  });
}

const ANSWERS: Answers = {
  connect: async (held, given) => await connectTo(held, given),
  disconnect: async (held) => {
    for (const { number, fold } of held.sources.all()) if (fold.source.kind === 'engine') held.sources.close(number);
    await held.engine?.client.close();
    held.engine = null;
    return {};
  },
  sessions: (held, given) => sessionsPage(held, given),
  open: async ({ sources }, given) => {
    const opened = sources.open(given);
    const ran = opened.fold.run();
    // The beginning is enough to answer; a source that has none has ended.
    await Promise.race([opened.fold.reached(0).catch(() => undefined), ran]);
    const fault = opened.fold.unreadable();
    if (fault !== null && !fault.inStream && opened.fold.genesis() === null) {
      sources.close(opened.number);
      throw fault;
    }
    return opened.view();
  },
  close: ({ sources }, { source }) => {
    sources.close(source);
    return {};
  },
  opened: ({ sources }) => sources.all().map((opened) => opened.view()),
  session: ({ sources }, { source }) => {
    const opened = sources.at(source);
    return factsOf(opened.fold, opened.view(), opened.verdicts());
  },
  rows: async (held, given) => await rowsIn(foldOf(held, given), given),
  event: async (held, given) => await eventAt(foldOf(held, given), given.position),
  marks: (held, given) => foldOf(held, given).marks.parts(windowOf({ from: 0, limit: given.parts }).limit),
  seekMark: (held, given) => ({ position: seekMark(foldOf(held, given), given) }),
  turns: async (held, given, signal) => await turnsIn(foldOf(held, given), given, signal),
  turnAt: (held, given) => ({ index: foldOf(held, given).turns.before(given.position)?.index ?? null }),
  turn: async (held, given) => await turnDetail(foldOf(held, given), given),
  call: async (held, given) => await callDetail(foldOf(held, given), given),
  changedFile: async (held, given) => await changedFile(foldOf(held, given), given),
  tools: async (held, given) => await toolsAt(foldOf(held, given), given),
  state: async (held, given) => await statePart(foldOf(held, given), given),
  stateDiff: async (held, given) => await stateDiff(foldOf(held, given), given),
  findPath: async (held, given) => await findPaths(foldOf(held, given), given),
  alternatives: async (held, given) => await alternativesOf(foldOf(held, given)),
  whatIf: async (held, given, signal) => await whatIf(held, given, signal),
  whatIfTurns: ({ sources }, given) => whatIfWindow(lastWhatIf(sources, given.source), given),
  whatIfExport: ({ sources }, { source }) => exportOf(lastWhatIf(sources, source), sources.at(source).fold.source.name),
  compare: async ({ sources }, given, signal) => {
    const [a, b] = [sources.at(given.a).fold.source, sources.at(given.b).fold.source];
    return await compareSources({ a, b }, given, signal);
  },
  verdicts: ({ sources }, { source }) => sources.at(source).verdicts(),
  giveHead: async ({ sources }, { source, head }) => {
    const opened = sources.at(source);
    opened.head = head === null ? null : await readHead(opened.fold, head);
    opened.found = opened.head === null ? null : await compareHead(opened.fold, opened.head);
    opened.tell();
    return opened.verdicts();
  },
  checkBlobs: async ({ sources }, { source }, signal) => {
    const opened = sources.at(source);
    const tell = (progress: typeof opened.blobs): void => {
      opened.blobs = progress;
      opened.tell();
    };
    await checkAllBlobs(opened.fold, tell, signal);
    return opened.verdicts();
  },
  blob: async (held, given) => await blobText(foldOf(held, given).source, given),
  blobBytes: async (held, given) => {
    const bytes = await bytesOfBlob(foldOf(held, given).source, given.ref);
    return { bytes: new Uint8Array(bytes).buffer };
  },
  waiting: async (held) => await engineOf(held).waiting.read(),
  toolsets: async (held, given) => await waitingToolsets(foldOf(held, given)),
  undoFiles: async (held, given) => await undoFiles(foldOf(held, given), given),
  answer: async (held, given) => {
    const { client, by, waiting } = engineOf(held);
    return await answerQuestion(client, { given, by, waiting });
  },
  act: async (held, given) => {
    const { client, by } = engineOf(held);
    return await actOn(client, given, by);
  },
};

/** The nearest mark; a fault is no mark of its event alone, so it is looked for beside. */
function seekMark(fold: StreamFold, { from, direction, kinds }: MarkWanted): number | null {
  const isNext = direction === 'next';
  const faults = kinds.includes('fault') ? [fold.fault(), fold.chain().fault] : [];
  const found = [fold.marks.seek(from, direction, bitsOf(kinds)), ...faults.map((fault) => fault?.position ?? null)]
    .filter((position) => position !== null)
    .filter((position) => position >= 0 && (isNext ? position > from : position < from))
    .sort((a, b) => a - b);
  return found.at(isNext ? 0 : -1) ?? null;
}

async function connectTo(held: Held, { url, token, scope, by }: ConnectTo): Promise<AnswerTo<'connect'>> {
  const client = withLink(held.host.connect(url, token), (news) => held.host.post({ news }));
  const info = await must(client.info());
  await held.engine?.client.close();
  held.engine = { client, by, scope, waiting: newWaitingCalls(client) };
  return { info, scope };
}

async function sessionsPage(held: Held, { text, ...given }: SessionsWanted): Promise<SessionsPage> {
  const { client, waiting } = engineOf(held);
  const page = await must(client.sessions({ ...given, limit: windowOf({ from: 0, limit: given.limit }).limit }));
  const wanted = text?.toLowerCase() ?? '';
  const listed = page.sessions.filter(({ session_id, card }) =>
    `${session_id} ${card.title ?? ''}`.toLowerCase().includes(wanted),
  );
  const sessions: SessionRow[] = [];
  for (const summary of listed) {
    const opened = held.sources.ofSession(summary.session_id);
    sessions.push({
      ...summary,
      waits: await waiting.namesIn(summary),
      opened: opened === null ? null : { source: opened.number, verdicts: opened.verdicts() },
    });
  }
  return { sessions, next: page.next };
}

async function whatIf(held: Held, given: Given<'whatIf'>, signal: AbortSignal): Promise<AnswerTo<'whatIf'>> {
  const opened = held.sources.at(given.source);
  opened.deciding?.abort();
  const deciding = new AbortController();
  opened.deciding = deciding;
  signal.addEventListener('abort', () => deciding.abort());
  let told = -Infinity;
  const tell = (decided: number, total: number): void => {
    if (performance.now() - told < 100) return;
    told = performance.now();
    held.host.post({ news: { kind: 'whatIf', source: given.source, decided, total } });
  };
  opened.whatIf = await decideAgain(opened.fold, given, { tell, signal: deciding.signal });
  return opened.whatIf.summary;
}

function lastWhatIf(sources: OpenedSources, source: number) {
  const { whatIf: found } = sources.at(source);
  if (found !== null) return found;
  throw new Refused({ code: 'cannot', message: 'nothing was decided again yet', advice: 'Give an alternative first.' });
}
