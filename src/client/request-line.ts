// The method and the path with which a route is requested over HTTP.
import { ROUTES, type Route } from '../../schemas/access.ts';
import type { ExchangeRequest } from './platform/platform.ts';

export function requestLine({ route, of = '', query = {} }: Pick<ExchangeRequest, 'route' | 'of' | 'query'>): {
  readonly method: Route['method'];
  readonly path: string;
} {
  const { method, path } = ROUTES[route];
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
  const filled = path.replace(/:(id|ref)$|:id(?=\/)/, () => encodeURIComponent(of));
  return { method, path: parameters.size === 0 ? filled : `${filled}?${parameters.toString()}` };
}
