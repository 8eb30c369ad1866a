// The requests to an MCP server over HTTP. A redirect must stay within the origin of the server; no server leads the bridge to a
// private address (of this machine, of its network, of a cloud's metadata) unless the operator's own URL names one. What comes
// back is bounded: a response as a whole, and of a stream each event.
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { MCP_MESSAGE_BYTES_MAX, MCP_REDIRECTS_MAX } from '../../schemas/limits.ts';

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A request that is not made, or a response that is not read; the message is for people. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
}

interface FetchPorts {
  readonly fetch: Fetch;
  /** The addresses of a host. */
  readonly addressesOf: (host: string) => Promise<readonly string[]>;
}

const realPorts: FetchPorts = {
  fetch: (url, init) => fetch(url, init),
  addressesOf: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
};

/**
 * `named` are the URLs of the operator, the server's first: their own hosts may be private. Any other host, such as that of an
 * authorization server which the server names, must have public addresses only. A server of this machine may name others of it.
 */
export function guardedFetch(named: readonly string[], ports: FetchPorts = realPorts): Fetch {
  const urls = named.map((url) => new URL(url));
  const hosts = new Set(urls.map(({ host }) => host));
  const isPlain = urls.some(({ protocol }) => protocol === 'http:');
  const isLocal = urls.some(({ hostname }) => isLoopback(hostname));
  return async (url, init) => {
    let at = new URL(url);
    for (let followed = 0; ; followed += 1) {
      if (at.protocol !== 'https:' && !(at.protocol === 'http:' && isPlain))
        throw new RefusedRequest(`${at.origin} is not https`);
      const isNamed = hosts.has(at.host) || (isLocal && isLoopback(at.hostname));
      if (!isNamed) await refusePrivate(at, ports);
      const response = await ports.fetch(at, { ...init, redirect: 'manual' });
      const target = redirectOf(at, response);
      if (target === null) return bounded(response);
      await response.body?.cancel();
      if (followed === MCP_REDIRECTS_MAX)
        throw new RefusedRequest(`the server redirects more than ${MCP_REDIRECTS_MAX} times`);
      refuseTarget(target, { from: at, status: response.status, method: init?.method ?? 'GET' });
      at = target;
    }
  };
}

interface Redirect {
  readonly from: URL;
  readonly status: number;
  readonly method: string;
}

function refuseTarget(target: URL, { from, status, method }: Redirect): void {
  if (target.origin !== from.origin)
    throw new RefusedRequest(`the server redirects to ${target.origin}, which is not its own origin`);
  if (status !== 307 && status !== 308 && method !== 'GET')
    throw new RefusedRequest(`the server redirects a ${method} with ${status}, which loses its body`);
}

function redirectOf(from: URL, { status, headers }: Response): URL | null {
  const location = headers.get('location');
  if (status < 300 || status > 399 || location === null || !URL.canParse(location, from.href)) return null;
  return new URL(location, from.href);
}

async function refusePrivate({ hostname, host }: URL, { addressesOf }: FetchPorts): Promise<void> {
  const name = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(name) === 0 ? await addressesOf(name) : [name];
  const inside = addresses.find(isPrivateAddress);
  if (inside !== undefined)
    throw new RefusedRequest(`${host} has the private address ${inside}; a server may not lead there`);
}

/** By its name alone: another name may have a loopback address today and a public one tomorrow. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));

export function isPrivateAddress(address: string): boolean {
  // An IPv4 address that is written as one of IPv6 is compared with the IPv4 networks.
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

// IANA special-purpose address registries (RFC 6890).
const PRIVATE = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv6');

/** The response, which fails to be read when it is larger than a message may be. */
function bounded(response: Response): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isStream = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
  const limited = body.pipeThrough(newByteLimit(isStream));
  return new Response(limited, { status, statusText, headers });
}

/** Of a stream, the bytes count from the last empty line, which ends an event (HTML, section 9.2.6). */
function newByteLimit(isStream: boolean): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  let lastByte = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of isStream ? chunk : []) {
        bytes += 1;
        const endsEvent = byte === 0x0a && lastByte === 0x0a;
        if (byte !== 0x0d) lastByte = byte;
        if (endsEvent) bytes = 0;
        else if (bytes > MCP_MESSAGE_BYTES_MAX) break;
      }
      if (!isStream) bytes += chunk.length;
      if (bytes > MCP_MESSAGE_BYTES_MAX)
        controller.error(new RefusedRequest(`the server sent a message of more than ${MCP_MESSAGE_BYTES_MAX} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
