// Where the reader is, kept in the fragment of the address, so that a link can be copied and the browser's back button
// works. The fragment never leaves the browser. Sources that are files have the number of their tab and cannot be linked.
import { unreachable } from '../../schemas/rejection.ts';

export type Route =
  | { readonly screen: 'sessions' }
  | { readonly screen: 'waiting' }
  | { readonly screen: 'compare'; readonly a: string | null; readonly b: string | null }
  | { readonly screen: 'session'; readonly of: string; readonly at: number | null }
  | { readonly screen: 'turn'; readonly of: string; readonly run: string; readonly turn: number }
  | {
      readonly screen: 'call';
      readonly of: string;
      readonly batch: string | null;
      readonly call: string;
      readonly observed: number;
      readonly index: number;
    }
  | { readonly screen: 'tools'; readonly of: string; readonly at: number | null; readonly against: number | null }
  | { readonly screen: 'state'; readonly of: string; readonly at: number | null; readonly path: string }
  | { readonly screen: 'whatif'; readonly of: string }
  | { readonly screen: 'proof'; readonly of: string };

type OfSession = Extract<Route, { readonly of: string }>;
type Query = (name: string) => string | null;

/** `of` names a source: the id of a session of the engine, or `file:N`. */
export function routeOf(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?');
  const parameters = new URLSearchParams(query);
  const asked: Query = (name) => parameters.get(name);
  const [head, of = '', screen = 'session', ...rest] = path.split('/').map(decoded);
  if (head === 'waiting') return { screen: 'waiting' };
  if (head === 'compare') return { screen: 'compare', a: asked('a'), b: asked('b') };
  if (head !== 'session' || of === '') return { screen: 'sessions' };
  const known = Object.hasOwn(OF_SESSION, screen) ? (screen as OfSession['screen']) : 'session';
  return OF_SESSION[known](of, rest, asked);
}

const OF_SESSION: {
  readonly [S in OfSession['screen']]: (of: string, rest: readonly string[], asked: Query) => OfSession;
} = {
  session: (of, _rest, asked) => ({ screen: 'session', of, at: wholeNumber(asked('at')) }),
  turn: (of, [run = '', turn = '']) => ({ screen: 'turn', of, run, turn: wholeNumber(turn) ?? 0 }),
  call: (of, [call = ''], asked) => ({
    screen: 'call',
    of,
    batch: asked('batch'),
    call,
    observed: wholeNumber(asked('observed')) ?? 0,
    index: wholeNumber(asked('index')) ?? 0,
  }),
  tools: (of, _rest, asked) => ({
    screen: 'tools',
    of,
    at: wholeNumber(asked('at')),
    against: wholeNumber(asked('against')),
  }),
  state: (of, _rest, asked) => ({ screen: 'state', of, at: wholeNumber(asked('at')), path: asked('path') ?? '' }),
  whatif: (of) => ({ screen: 'whatif', of }),
  proof: (of) => ({ screen: 'proof', of }),
};

/** The fragment of a route; {@link routeOf} reads it back. */
export function fragmentOf(route: Route): string {
  if (route.screen === 'sessions' || route.screen === 'waiting') return `#/${route.screen}`;
  if (route.screen === 'compare') return `#/compare${queryOf({ a: route.a, b: route.b })}`;
  const { screen, of } = route;
  const base = `#/session/${encodeURIComponent(of)}`;
  switch (screen) {
    case 'session':
      return `${base}${queryOf({ at: route.at })}`;
    case 'turn':
      return `${base}/turn/${encodeURIComponent(route.run)}/${route.turn}`;
    case 'call': {
      const { batch, observed, index } = route;
      return `${base}/call/${encodeURIComponent(route.call)}${queryOf({ batch, observed, index })}`;
    }
    case 'tools':
      return `${base}/tools${queryOf({ at: route.at, against: route.against })}`;
    case 'state':
      return `${base}/state${queryOf({ at: route.at, path: route.path === '' ? null : route.path })}`;
    case 'whatif':
    case 'proof':
      return `${base}/${screen}`;
    default:
      return unreachable(screen);
  }
}

function queryOf(asked: Readonly<Record<string, string | number | null>>): string {
  const given = Object.entries(asked).filter(([, value]) => value !== null);
  const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return query === '' ? '' : `?${query}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const wholeNumber = (text: string | null): number | null =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
