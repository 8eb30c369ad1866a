// Where requests go, and where they must not go.
import { isHttpUrl } from '../../../src/client/http-url.ts';
import { ProviderError } from '../provider.ts';

/** Why a base URL is not used, with what to do; null when it is fine. */
export function baseUrlFault(baseUrl: string): string | null {
  if (!isHttpUrl(baseUrl)) return 'the base URL must be an http or https URL such as https://api.openai.com/v1';
  const url = new URL(baseUrl);
  if (url.username !== '' || url.password !== '') {
    return 'the base URL must not hold a user name or a password: a key is given by itself, and sent in a header';
  }
  if ([...url.searchParams.keys()].some((name) => /^(api[-_]?key|key|token|access_token)$/i.test(name))) {
    return 'the base URL must not hold a key: it is given by itself, and sent in a header';
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return `the base URL must use https, because ${url.hostname} is not this machine: the key and the conversation would be readable on the way`;
  }
  return null;
}

// A URL has the canonical spelling of an IPv4 address already.
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$/.test(host);

/**
 * The address of a request: the path of the base URL and the path of the request, with the queries of both. Throws a
 * {@link ProviderError} for a path with a segment `.` or `..`, such as of a model of that name: a URL has another path then.
 */
export function endpoint(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  const [route = '', query = ''] = path.split('?', 2);
  const dots = route.split(/[/\\]/).find((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
  if (dots !== undefined) {
    throw new ProviderError(
      'invalid_request',
      `${JSON.stringify(dots)} is no name of a model; name one that the server has`,
    );
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${route}`;
  for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value);
  url.hash = '';
  return url.href;
}

/** The host that a redirect names, for people. */
export function redirectTarget(location: string, from: string): string {
  try {
    return new URL(location, from).host;
  } catch {
    return 'another address';
  }
}
