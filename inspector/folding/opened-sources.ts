// The sources that are open: each folds by itself and tells how far it is, at most ten times a second.
import { sessionStatus, personEffects } from '../../src/core/index.ts';
import type { EngineClient } from '../../src/client/client.ts';
import type { News, OpenedSource, SourceGiven, Verdicts } from '../protocol.ts';
import { newEngineSource } from '../records/engine-source.ts';
import { newFileSource } from '../records/file-source.ts';
import type { RecordSource } from '../records/record-source.ts';
import type { BlobsProgress } from './blobs-verdict.ts';
import { type HeadFound, type HeadRead, compareHead } from './head-verdict.ts';
import { Refused } from './refused.ts';
import { type StreamFold, newStreamFold } from './stream-fold.ts';
import { verdictsOf } from './verdicts.ts';
import type { WhatIfFound } from './what-if.ts';

/** Most sources that are open at a time: two to compare, and some to go back to. */
const SOURCES_MAX = 8;
const NEWS_EVERY_MS = 100;

export interface Opened {
  readonly number: number;
  readonly fold: StreamFold;
  /** What the reader gave to compare with; compared again when the stream grows. */
  head: HeadRead | null;
  found: HeadFound | null;
  blobs: BlobsProgress | null;
  whatIf: WhatIfFound | null;
  /** Ends the what-if that runs. */
  deciding: AbortController | null;
  view(): OpenedSource;
  verdicts(): Verdicts;
  /** Tells of verdicts that changed otherwise than by folding. */
  tell(): void;
}

export interface OpenedSources {
  open(given: SourceGiven): Opened;
  /** Throws {@link Refused} when there is no such source. */
  at(number: number): Opened;
  ofSession(session_id: string): Opened | null;
  all(): readonly Opened[];
  close(number: number): void;
}

export interface OpenWith {
  readonly post: (news: News) => void;
  readonly client: () => EngineClient | null;
  readonly mayAct: () => boolean;
}

export function newOpenedSources(host: OpenWith): OpenedSources {
  const opened = new Map<number, Opened>();
  let count = 0;

  function at(number: number): Opened {
    const found = opened.get(number);
    if (found !== undefined) return found;
    throw new Refused({ code: 'no_source', message: `source ${number} is not open`, advice: 'Open it again.' });
  }

  return {
    at,
    all: () => [...opened.values()],
    ofSession: (id) => [...opened.values()].find(({ fold }) => fold.source.session === id) ?? null,
    open(given) {
      if (opened.size >= SOURCES_MAX) {
        const message = `${SOURCES_MAX} sources are open already`;
        throw new Refused({ code: 'cannot', message, advice: 'Close one of them.' });
      }
      count += 1;
      const made = newOpened(count, sourceOf(given, host.client()), host);
      opened.set(count, made);
      return made;
    },
    close(number) {
      at(number).fold.stop();
      at(number).deciding?.abort();
      opened.delete(number);
    },
  };
}

function sourceOf(given: SourceGiven, client: EngineClient | null): RecordSource {
  if (given.kind === 'file') return newFileSource('file', given.name, given.file);
  if (given.kind === 'embedded') return newFileSource('embedded', given.name, new Blob([given.text]));
  if (client !== null) return newEngineSource(client, given.session_id);
  throw new Refused({
    code: 'no_engine',
    message: 'no engine is connected',
    advice: 'Start the page with refold open.',
  });
}

function newOpened(number: number, source: RecordSource, { post, mayAct }: OpenWith): Opened {
  let told = -Infinity;
  let wasDone = false;
  const fold = newStreamFold(source, {
    read: () => progressed(),
    grown: (from) => void grown(from),
    delta: ({ run_id, turn, parts, retract = false }) =>
      post({ kind: 'delta', source: number, run_id, turn, parts, retract }),
  });

  const made: Opened = {
    number,
    fold,
    head: null,
    found: null,
    blobs: null,
    whatIf: null,
    deciding: null,
    view: () => ({
      source: number,
      kind: source.kind,
      name: source.name,
      session_id: fold.genesis()?.session_id ?? source.session ?? null,
      can: {
        blobs: source.blob !== undefined,
        live: source.follow !== undefined,
        act: source.session !== undefined && mayAct(),
      },
      progress: fold.progress(),
    }),
    verdicts: () => verdictsOf(fold, made.found, made.blobs),
    tell: () => post({ kind: 'verdicts', source: number, verdicts: made.verdicts() }),
  };

  function progressed(): void {
    const progress = fold.progress();
    const isNew = progress.done && !wasDone;
    if (!isNew && performance.now() - told < NEWS_EVERY_MS) return;
    told = performance.now();
    wasDone ||= progress.done;
    post({ kind: 'fold', source: number, ...progress, verdicts: made.verdicts() });
    const fault = fold.unreadable();
    if (isNew && fault !== null) {
      post({ kind: 'ended', source: number, refusal: { code: 'unreadable', message: fault.message, advice: '' } });
    }
  }

  async function grown(from: number): Promise<void> {
    const { total, read } = fold.progress();
    const state = fold.now()?.state;
    const status = state === undefined ? 'idle' : sessionStatus(state).status;
    const waits = state === undefined ? 0 : personEffects(state).length;
    post({ kind: 'grown', source: number, from, total: total ?? read, status, waits });
    if (made.head !== null) made.found = await compareHead(fold, made.head);
    made.tell();
  }

  return made;
}
