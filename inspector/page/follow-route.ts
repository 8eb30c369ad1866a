// The route of the browser's address, as it changes.
import { type ReadonlySignal, signal } from '@preact/signals';
import { type Route, routeOf } from './route.ts';

export function followRoute(window: Window): ReadonlySignal<Route> {
  const route = signal(routeOf(window.location.hash));
  window.addEventListener('hashchange', () => {
    route.value = routeOf(window.location.hash);
  });
  return route;
}
