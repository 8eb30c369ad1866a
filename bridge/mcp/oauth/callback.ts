// Where a browser is sent back to after a person has signed in (RFC 8252, section 7.3): a page on the loopback address of this
// machine. A person whose browser is elsewhere gives the address that it was sent to. Only an answer to the request of this login
// counts (RFC 6749, section 10.12): anything else is told apart by its state, refused, and changes nothing.
import { timingSafeEqual } from 'node:crypto';
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { MCP_CALLBACKS_MAX } from '../../../schemas/limits.ts';

export interface Callback {
  /** The redirect URI. */
  readonly uri: string;
  /** Resolves with the parameters of the answer with this state; rejects when the login is refused, or over. */
  answer(state: string): Promise<URLSearchParams>;
  /** The address that a person was sent to. Returns what is wrong with it; null when it is taken. */
  paste(text: string): string | null;
  close(): Promise<void>;
}

/** `port`: null for any free one. Rejects when the port is taken. */
export async function openCallback(port: number | null): Promise<Callback> {
  let given: ((answer: Either<Error, URLSearchParams>) => void) | null = null;
  let expected = '';
  let refused = 0;

  function take(params: URLSearchParams): string | null {
    if (given === null) return 'no login waits for an answer';
    if (!isSameText(params.get('state') ?? '', expected)) {
      refused += 1;
      if (refused > MCP_CALLBACKS_MAX) given(left(new Error('too many answers came that belong to no request')));
      return 'this is not the answer to the request of this login: its state is another';
    }
    const error = params.get('error');
    const said = params.get('error_description');
    if (error !== null)
      given(left(new Error(`the authorization server refused: ${error}${said === null ? '' : `: ${said}`}`)));
    else if (params.get('code') === null) return 'the address has no code';
    else given(right(params));
    return null;
  }

  const server = createServer((request, response) => {
    const params = request.method === 'GET' ? paramsOf(request.url) : null;
    const fault = params === null ? null : take(params);
    if (params === null) page(response, 404, 'There is nothing here.');
    else if (fault === null) page(response, 200, 'refold has got the answer. You may close this page.');
    else page(response, 400, `This answer is not taken: ${fault}.`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port ?? 0, '127.0.0.1', resolve);
  });
  const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  return {
    uri,
    answer(state) {
      expected = state;
      return new Promise((resolve, reject) => {
        given = (answer) => {
          given = null;
          if (answer._tag === 'Left') reject(answer.left);
          else resolve(answer.right);
        };
      });
    },
    paste(text) {
      const trimmed = text.trim();
      if (!trimmed.startsWith(`${uri}?`)) return `give the whole address, which begins with ${uri}?`;
      return take(new URL(trimmed).searchParams);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const PATH = '/callback';

/** Null for every other place, and for what is no address: any program and any page of this machine can ask for one. */
function paramsOf(url = ''): URLSearchParams | null {
  const at = URL.canParse(url, 'http://127.0.0.1') ? new URL(url, 'http://127.0.0.1') : null;
  return at?.pathname === PATH ? at.searchParams : null;
}

/** No text of a request is shown. */
function page(response: ServerResponse, status: number, text: string): void {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    connection: 'close',
  };
  response.writeHead(status, headers).end(`${text}\n`);
}

function isSameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8')];
  return left.length === right.length && timingSafeEqual(left, right);
}
