// Request headers as they came. The platform's Headers are made anew for each request, which costs more than most
// requests do; where there is a connection, its own list is read instead.
import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';

/** The request on its connection; undefined where there is none, as in a test without a server. */
export const incomingOf = (context: Context): IncomingMessage | undefined =>
  (context.env as { readonly incoming?: IncomingMessage } | undefined)?.incoming;

/** The value of a header, by its lower-case name. One that is given twice has both, and so is none that is expected. */
export function headerOf(context: Context, name: string): string | undefined {
  const raw = incomingOf(context)?.rawHeaders;
  if (raw === undefined) return context.req.header(name);
  let found: string | undefined;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (raw[index]?.length !== name.length || raw[index]?.toLowerCase() !== name) continue;
    found = found === undefined ? (raw[index + 1] ?? '') : `${found}, ${raw[index + 1]}`;
  }
  return found;
}
