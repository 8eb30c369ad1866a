// Request headers. Building the platform's Headers object costs more than handling most requests, so headers are read from
// the raw list of the connection where there is one.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from 'hono';

/** The request on its connection; undefined when there is none, as in a test without a server. */
export const incomingOf = (context: Context): IncomingMessage | undefined =>
  (context.env as { readonly incoming?: IncomingMessage } | undefined)?.incoming;

/** The response on that connection. */
export const outgoingOf = (context: Context): ServerResponse | undefined =>
  (context.env as { readonly outgoing?: ServerResponse } | undefined)?.outgoing;

/** The value of a header, by its lower-case name. A header given twice has both values, so it matches no expected one. */
export function headerOf(context: Context, name: string): string | undefined {
  const raw = incomingOf(context)?.rawHeaders;
  return raw === undefined ? context.req.header(name) : rawHeader(raw, name);
}

/** The same of the raw list of a connection. */
export function rawHeader(raw: readonly string[], name: string): string | undefined {
  let found: string | undefined;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (raw[index]?.length !== name.length || raw[index]?.toLowerCase() !== name) continue;
    found = found === undefined ? (raw[index + 1] ?? '') : `${found}, ${raw[index + 1]}`;
  }
  return found;
}
