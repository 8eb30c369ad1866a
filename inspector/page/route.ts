// Where the reader is, kept in the fragment of the address, so that a link can be copied and the browser's back button
// works. The fragment never leaves the browser. Sources that are files have the number of their tab and cannot be linked.
import { type ReadonlySignal, signal } from '@preact/signals';

export type Screen =
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

export type Route = Screen;

/** `of` names a source: the id of a session of the engine, or `file:N`. */
export function routeOf(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?');
  const asked = new URLSearchParams(query);
  const [head, of, screen, ...rest] = path.split('/').map(decoded);
  const number = (name: string): number | null => wholeNumber(asked.get(name));
  if (head === 'waiting') return { screen: 'waiting' };
  if (head === 'compare') return { screen: 'compare', a: asked.get('a'), b: asked.get('b') };
  if (head !== 'session' || of === undefined || of === '') return { screen: 'sessions' };
  switch (screen) {
    case 'turn':
      return { screen, of, run: rest[0] ?? '', turn: wholeNumber(rest[1] ?? null) ?? 0 };
    case 'call': {
      const observed = number('observed') ?? 0;
      return { screen, of, batch: asked.get('batch'), call: rest[0] ?? '', observed, index: number('index') ?? 0 };
    }
    case 'tools':
      return { screen, of, at: number('at'), against: number('against') };
    case 'state':
      return { screen, of, at: number('at'), path: asked.get('path') ?? '' };
    case 'whatif':
    case 'proof':
      return { screen, of };
    default:
      return { screen: 'session', of, at: number('at') };
  }
}

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
    default:
      return `${base}/${screen}`;
  }
}

function queryOf(asked: Readonly<Record<string, string | number | null>>): string {
  const given = Object.entries(asked).filter(([, value]) => value !== null);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
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

/** The route of the browser's address. */
export function followRoute(window: Window): ReadonlySignal<Route> {
  const route = signal(routeOf(window.location.hash));
  window.addEventListener('hashchange', () => {
    route.value = routeOf(window.location.hash);
  });
  return route;
}
