// How the page gets its token: the address that `refold open` made holds a code, which is used once. The page takes it out of
// the address first, exchanges it, and keeps the token in this tab alone.
import type { SessionId } from '../../schemas/ids.ts';
import type { Scope } from '../../schemas/access.ts';
import type { App } from './app.ts';
import { Refused } from './link.ts';
import { fragmentOf } from './route.ts';

/** The key in the storage of this tab. */
const KEPT = 'refold.page';

interface PageToken {
  readonly token: string;
  readonly scope: Scope;
  readonly name: string;
  /** The server serves this one file, and no engine. */
  readonly file?: { readonly name: string; readonly bytes: number };
}

export interface PageConnection {
  /** Connects to what serves the page. Resolves when it is connected, or when there is nothing to connect to. */
  start(app: App): Promise<void>;
}

/** Takes the code out of the address at once. */
export function connectPage(window: Window): PageConnection {
  const { location, history, sessionStorage } = window;
  const asked = location.hash.startsWith('#code=') ? new URLSearchParams(location.hash.slice(1)) : null;
  const session = asked?.get('session') ?? null;
  if (asked !== null) {
    const to = session === null ? ({ screen: 'sessions' } as const) : sessionRoute(session);
    history.replaceState(null, '', `${location.pathname}${fragmentOf(to)}`);
    sessionStorage.removeItem(KEPT);
  }

  async function tokenOf(): Promise<PageToken | null> {
    const code = asked?.get('code') ?? null;
    if (code === null) {
      const kept = sessionStorage.getItem(KEPT);
      return kept === null ? null : (JSON.parse(kept) as PageToken);
    }
    const answered = await fetch('/v1/codes/exchange', { method: 'POST', headers: { authorization: `Code ${code}` } });
    if (!answered.ok) throw await refusalOf(answered);
    const token = (await answered.json()) as PageToken;
    sessionStorage.setItem(KEPT, JSON.stringify(token));
    return token;
  }

  return {
    async start(app) {
      const given = await tokenOf();
      if (given === null) return;
      const { token, scope, name, file } = given;
      if (file === undefined) {
        const connected = await app.link.ask('connect', { url: location.origin, token, scope, by: name });
        app.engine.value = { ...connected, by: name, link: 'up', message: '' };
        return;
      }
      const served = await fetch('/v1/file', { headers: { authorization: `Bearer ${token}` } });
      if (!served.ok) throw await refusalOf(served);
      const opened = await app.open({ kind: 'file', name: file.name, file: await served.blob() });
      if (asked !== null) location.hash = fragmentOf(sessionRoute(`file:${opened.source}`));
    },
  };
}

const sessionRoute = (of: string) => ({ screen: 'session', of: of as SessionId, at: null }) as const;

/** What the server says of a refused request (RFC 9457). */
async function refusalOf(answered: Response): Promise<Refused> {
  const said = (await answered.json().catch(() => null)) as { readonly detail?: unknown } | null;
  const detail = typeof said?.detail === 'string' ? said.detail : `the server answered ${answered.status}`;
  return new Refused({ code: 'unauthorized', message: detail, advice: 'Open the page again: refold open' });
}
