// What all parts of the page share: the line to the worker, the route, and what the worker has told so far.
import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { type ReadonlySignal, type Signal, signal, useSignal } from '@preact/signals';
import type {
  AskName,
  AnswerTo,
  Connected,
  Given,
  News,
  OpenedSource,
  Refusal,
  SourceGiven,
  Verdicts,
} from '../protocol.ts';
import { type Link, Refused } from './link.ts';
import type { Route } from './route.ts';

export interface App {
  readonly link: Link;
  readonly route: ReadonlySignal<Route>;
  /** Null without an engine: the page shows a file. */
  readonly engine: Signal<EngineLink | null>;
  readonly sources: Signal<readonly SourceNow[]>;
  /** Grows with each event that comes by itself, so that what is shown is asked for again. */
  readonly live: Signal<number>;
  readonly deltas: Signal<readonly Delta[]>;
  open(given: SourceGiven): Promise<OpenedSource>;
}

export interface EngineLink extends Connected {
  readonly by: string;
  readonly link: 'up' | 'lost' | 'refused';
  readonly message: string;
}

/** An open source as the worker last told of it. */
export interface SourceNow extends OpenedSource {
  readonly verdicts: Verdicts | null;
  readonly ended: Refusal | null;
  /** Grows with each news of this source. */
  readonly news: number;
}

/** What a model writes now, by source. */
export interface Delta {
  readonly source: number;
  readonly turn: string;
  readonly text: string;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === null) throw new Error('a part of the page is drawn outside of it');
  return app;
}

export function newApp(link: Link, route: ReadonlySignal<Route>): App {
  const engine = signal<EngineLink | null>(null);
  const sources = signal<readonly SourceNow[]>([]);
  const live = signal(0);
  const deltas = signal<readonly Delta[]>([]);
  const change = (source: number, to: (known: SourceNow) => Partial<SourceNow>): void => {
    sources.value = sources.value.map((known) =>
      known.source === source ? { ...known, ...to(known), news: known.news + 1 } : known,
    );
  };
  const hear = (news: News): void => {
    switch (news.kind) {
      case 'fold': {
        const { kind: _kind, source, verdicts, ...progress } = news;
        change(source, () => ({ progress, verdicts }));
        return;
      }
      case 'verdicts':
        change(news.source, () => ({ verdicts: news.verdicts }));
        return;
      case 'grown':
        change(news.source, () => ({}));
        deltas.value = deltas.value.filter(({ source }) => source !== news.source);
        live.value += 1;
        return;
      case 'delta':
        deltas.value = withDelta(deltas.value, news);
        return;
      case 'engine':
        if (engine.value !== null) engine.value = { ...engine.value, link: news.link, message: news.message };
        return;
      case 'ended':
        change(news.source, () => ({ ended: news.refusal }));
        return;
      case 'whatIf':
        change(news.source, () => ({}));
        return;
      default:
        throw new Error(`the worker told of something unknown: ${JSON.stringify(news satisfies never)}`);
    }
  };
  link.listen(hear);
  /** The worker holds a bounded number of sources, so the one that was opened first goes: a session, which can be read again. */
  const makeRoom = async (): Promise<void> => {
    const shown = namesIn(route.value);
    const others = sources.value.filter((known) => !shown.includes(nameOf(known)));
    const first = others.find(({ kind }) => kind === 'engine') ?? others[0];
    if (sources.value.length < SOURCES_MAX || first === undefined) return;
    sources.value = sources.value.filter((known) => known !== first);
    await link.ask('close', { source: first.source });
  };
  return {
    link,
    route,
    engine,
    sources,
    live,
    deltas,
    async open(given) {
      const known = given.kind === 'engine' ? sources.value.find(isSession(given.session_id)) : undefined;
      if (known !== undefined) return known;
      await makeRoom();
      const opened = await link.ask('open', given);
      if (!sources.value.some(({ source }) => source === opened.source)) {
        sources.value = [...sources.value, { ...opened, verdicts: null, ended: null, news: 0 }];
      }
      return opened;
    },
  };
}

/** As many as the worker holds. */
const SOURCES_MAX = 8;

/** How addresses name a source. */
export const nameOf = ({ kind, source, session_id }: Pick<SourceNow, 'kind' | 'source' | 'session_id'>): string =>
  kind === 'engine' && session_id !== null ? session_id : `file:${source}`;

function namesIn(route: Route): readonly (string | null)[] {
  if (route.screen === 'compare') return [route.a, route.b];
  return 'of' in route ? [route.of] : [];
}

const isSession =
  (id: string) =>
  ({ kind, session_id }: SourceNow): boolean =>
    kind === 'engine' && session_id === id;

function withDelta(known: readonly Delta[], news: Extract<News, { readonly kind: 'delta' }>): readonly Delta[] {
  const { source, run_id, parts, retract } = news;
  const turn = `${run_id}/${news.turn}`;
  const others = known.filter((delta) => delta.source !== source || delta.turn !== turn);
  const before = retract ? undefined : known.find((delta) => delta.source === source && delta.turn === turn);
  const said = parts.map((part) => ('text' in part ? part.text : '')).join('');
  const text = ((before?.text ?? '') + said).slice(-DELTA_CHARS_MAX);
  return text === '' ? others : [...others, { source, turn, text }];
}

const DELTA_CHARS_MAX = 65_536;

export interface Asked<T> {
  /** The last answer; it stays while the next one is on its way. Null before the first. */
  readonly value: T | null;
  readonly refusal: Refusal | null;
  readonly waits: boolean;
}

/**
 * Asks the worker when what is given changes; an ask that is no longer wanted is withdrawn. A change of `again` asks anew,
 * once the last answer is there: a fold tells of itself more often than it can be asked.
 */
export function useAsk<A extends AskName>(ask: A, given: Given<A> | null, again: Again<A> = 0): Asked<AnswerTo<A>> {
  const { link } = useApp();
  const asked = useSignal<Asked<AnswerTo<A>>>({ value: null, refusal: null, waits: given !== null });
  const key = given === null ? null : JSON.stringify(given);
  const number = typeof again === 'function' ? again(asked.value.value) : again;
  const askedFor = useRef(number);
  const askAgain = useRef<(() => void) | null>(null);
  useEffect(() => {
    if (given === null) return undefined;
    const stop = new AbortController();
    let isOut = false;
    let isStale = false;
    function take(next: Partial<Asked<AnswerTo<A>>>): void {
      if (stop.signal.aborted) return;
      isOut = false;
      asked.value = { ...asked.peek(), refusal: null, waits: false, ...next };
      if (isStale) send();
    }
    function send(): void {
      if (isOut) {
        isStale = true;
        return;
      }
      [isOut, isStale] = [true, false];
      link.ask(ask, given as Given<A>, stop.signal).then(
        (value) => take({ value }),
        (error: unknown) => take({ refusal: refusalOf(error) }),
      );
    }
    asked.value = { ...asked.peek(), waits: true };
    askedFor.current = number;
    askAgain.current = send;
    send();
    return () => {
      stop.abort();
      askAgain.current = null;
    };
  }, [ask, key]);
  useEffect(() => {
    if (askedFor.current === number) return;
    askedFor.current = number;
    askAgain.current?.();
  }, [number]);
  return asked.value;
}

/** A number that changes when the same is to be asked anew; it may depend on the last answer. */
export type Again<A extends AskName> = number | ((last: AnswerTo<A> | null) => number);

/** Asks again with each news of a source; while it is still folded, only for what is not over. */
export const untilOver =
  <T>({ progress, news }: SourceNow, isOver: (last: T) => boolean) =>
  (last: T | null): number =>
    progress.done || last === null || !isOver(last) ? news : -1;

export const refusalOf = (error: unknown): Refusal =>
  error instanceof Refused
    ? error.refusal
    : { code: 'cannot', message: error instanceof Error ? error.message : 'it failed', advice: 'Reload the page.' };
