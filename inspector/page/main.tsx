// The page: takes the code out of its address, connects, and draws the screen that the address names.
import { render } from 'preact';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { CallId, SessionId, BatchId } from '../../schemas/ids.ts';
import { unreachable } from '../../schemas/rejection.ts';
import { visible } from '../../src/shown/visible.ts';
import type { Refusal } from '../protocol.ts';
import { AppContext, type App, type SourceNow, nameOf, newApp, refusalOf, useApp } from './app.ts';
import { connectPage } from './connect.ts';
import { Drops } from './files.tsx';
import { followRoute } from './follow-route.ts';
import { newLink } from './link.ts';
import { To } from './links.tsx';
import { RefusalNote } from './panel.tsx';
import type { Route } from './route.ts';
import { Call } from './screens/call.tsx';
import { Compare } from './screens/compare.tsx';
import { Proof } from './screens/proof.tsx';
import { Session } from './screens/session.tsx';
import { Sessions } from './screens/sessions.tsx';
import { State } from './screens/state.tsx';
import { Tools } from './screens/tools.tsx';
import { Turn } from './screens/turn.tsx';
import { WaitingQuestions } from './screens/waiting.tsx';
import { WhatIf } from './screens/what-if.tsx';
import { newWorker } from './new-worker.ts';

function Page(): JSX.Element {
  const { route, engine } = useApp();
  const now = route.value;
  return (
    <>
      <a class="skip" href="#content">
        to the content
      </a>
      <header>
        <nav aria-label="main">
          <strong>refold</strong>
          <To to={{ screen: 'sessions' }} current={now.screen === 'sessions'}>
            sessions
          </To>
          <To to={{ screen: 'waiting' }} current={now.screen === 'waiting'}>
            waiting
          </To>
          <To to={{ screen: 'compare', a: null, b: null }} current={now.screen === 'compare'}>
            compare
          </To>
        </nav>
        {'of' in now && <SessionNav route={now} />}
        <span class={`link ${engine.value?.link ?? 'none'}`} role="status">
          {engine.value === null
            ? 'no engine'
            : `${engine.value.scope === 'operator' ? `answers as ${visible(engine.value.by)}` : 'reads only'}${LINKS[engine.value.link]}`}
        </span>
      </header>
      <main id="content">
        <Drops />
        <ScreenOf route={now} />
      </main>
    </>
  );
}

const LINKS = {
  up: '',
  lost: ' – the engine does not answer; trying again',
  refused: ' – the token is not taken any more',
};

const PARTS = ['session', 'tools', 'state', 'whatif', 'proof'] as const;
const PART_NAMES = { session: 'session', tools: 'tools', state: 'state', whatif: 'what if', proof: 'proof' } as const;

function SessionNav({ route }: { readonly route: Extract<Route, { readonly of: string }> }): JSX.Element {
  const { of } = route;
  const at = 'at' in route ? route.at : null;
  return (
    <nav aria-label="session">
      {PARTS.map((screen) => (
        <To key={screen} to={routeTo(screen, of, at)} current={route.screen === screen}>
          {PART_NAMES[screen]}
        </To>
      ))}
    </nav>
  );
}

function routeTo(screen: (typeof PARTS)[number], of: string, at: number | null): Route {
  switch (screen) {
    case 'session':
      return { screen, of, at };
    case 'tools':
      return { screen, of, at, against: null };
    case 'state':
      return { screen, of, at, path: '' };
    case 'whatif':
    case 'proof':
      return { screen, of };
    default:
      return unreachable(screen);
  }
}

function ScreenOf({ route }: { readonly route: Route }): JSX.Element {
  switch (route.screen) {
    case 'sessions':
      return <Sessions />;
    case 'waiting':
      return <WaitingQuestions />;
    case 'compare':
      return (
        <WithSource of={route.a} key={`a ${route.a}`}>
          {(a) => (
            <WithSource of={route.b} key={`b ${route.b}`}>
              {(b) => <Compare a={a} b={b} />}
            </WithSource>
          )}
        </WithSource>
      );
    case 'session':
    case 'turn':
    case 'call':
    case 'tools':
    case 'state':
    case 'whatif':
    case 'proof':
      return (
        <WithSource of={route.of} key={`${route.screen} ${route.of}`}>
          {(source) =>
            source === null ? <p class="note">opening …</p> : <SessionScreen route={route} source={source} />
          }
        </WithSource>
      );
    default:
      return unreachable(route);
  }
}

interface SessionScreenProps {
  readonly route: Extract<Route, { readonly of: string }>;
  readonly source: SourceNow;
}

function SessionScreen({ route, source }: SessionScreenProps): JSX.Element {
  const of = nameOf(source);
  const ended = source.ended === null ? null : <RefusalNote refusal={source.ended} />;
  return (
    <>
      {ended}
      {drawn(route, of, source)}
    </>
  );
}

function drawn(route: SessionScreenProps['route'], of: string, source: SourceNow): JSX.Element {
  switch (route.screen) {
    case 'session':
      return <Session of={of} source={source} at={route.at} />;
    case 'turn':
      return <Turn of={of} source={source} run={route.run} turn={route.turn} />;
    case 'call': {
      const { call, observed, index } = route;
      const batch_id = route.batch as BatchId | null;
      return <Call of={of} source={source} address={{ batch_id, call_id: call as CallId, observed, index }} />;
    }
    case 'tools':
      return <Tools of={of} source={source} at={route.at} against={route.against} />;
    case 'state':
      return <State of={of} source={source} at={route.at} path={route.path} />;
    case 'whatif':
      return <WhatIf of={of} source={source} />;
    case 'proof':
      return <Proof source={source} />;
    default:
      return unreachable(route);
  }
}

interface WithSourceProps {
  readonly of: string | null;
  readonly children: (source: SourceNow | null) => JSX.Element;
}

/** Opens the session that an address names, when it is not open yet. */
function WithSource({ of, children }: WithSourceProps): JSX.Element {
  const app = useApp();
  const refused = useSignal<Refusal | null>(null);
  const known = of === null ? undefined : app.sources.value.find((source) => nameOf(source) === of);
  const isConnected = app.engine.value !== null;
  useEffect(() => {
    if (of === null || known !== undefined || of.startsWith('file:') || !isConnected) return;
    app
      .open({ kind: 'engine', session_id: of as SessionId })
      .catch((error: unknown) => (refused.value = refusalOf(error)));
  }, [of, known === undefined, isConnected]);
  if (refused.value !== null) return <RefusalNote refusal={refused.value} />;
  if (of?.startsWith('file:') === true && known === undefined) {
    return <p class="fault">This file is not open any more: a reloaded page has forgotten it. Open it again.</p>;
  }
  return children(known ?? null);
}

function Whole({ app, refusal }: { readonly app: App; readonly refusal: Refusal | null }): JSX.Element {
  return (
    <AppContext.Provider value={app}>
      {refusal !== null && <RefusalNote refusal={refusal} />}
      <Page />
    </AppContext.Provider>
  );
}

const place = document.getElementById('page');
if (place !== null) {
  const worker = newWorker(window);
  // The code leaves the address before anything else happens.
  const connection = connectPage(window);
  const app = newApp(newLink(worker), followRoute(window));
  // Drawn in a task of its own: with the evaluation of this script it would hold the page for too long.
  setTimeout(() => {
    place.replaceChildren();
    render(<Whole app={app} refusal={null} />, place);
    connection.start(app).catch((error: unknown) => {
      render(<Whole app={app} refusal={refusalOf(error)} />, place);
    });
  });
}
