// What needs no token: the files of the page, the exchange of a code for one, and the document of the API.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { PageToken } from '../../schemas/pages.ts';
import { reject } from '../../schemas/rejection.ts';
import { pause } from '../turns.ts';
import { refuseConnectingStranger } from '../files/connecting-user.ts';
import { newOpenApi } from './api/document.ts';
import { OPEN_SHAPES } from './api/open-shapes.ts';
import { type OpenRoutes, type Sender, refusalResponse } from './guard.ts';
import { headerOf, incomingOf } from './headers.ts';
import { newPageFiles } from './page-files.ts';
import type { Pages } from './pages.ts';

/** `file`: what the server serves in place of an engine. */
export function newOpenRoutes(directory: string, pages: Pages, file?: PageToken['file']): OpenRoutes {
  const pageFiles = newPageFiles(directory);
  const openApi = newOpenApi();

  /** It holds no secret and is the same for everyone, so that tools which read it need no token. */
  const document = async (): Promise<Response> =>
    new Response(await openApi(pause), {
      headers: { 'content-type': 'application/json', 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' },
    });

  async function exchange(context: Parameters<OpenRoutes>[0], sender: Sender): Promise<Response> {
    if (sender !== 'page') return refusalResponse(ONLY_THE_PAGE);
    const code = /^Code (\S+)$/.exec(headerOf(context, 'authorization') ?? '')?.[1] ?? '';
    const socket = incomingOf(context)?.socket;
    const exchanged = pages.exchange(code, () => (socket === undefined ? null : refuseConnectingStranger(socket)));
    if (isLeft(exchanged)) return refusalResponse(exchanged.left);
    const token: PageToken = { ...exchanged.right, ...(file === undefined ? {} : { file }) };
    return Response.json(token, { status: EXCHANGE.status, headers: { 'cache-control': 'no-store' } });
  }

  return (context, sender) => {
    const { method, path } = context.req;
    if (method === EXCHANGE.method && path === EXCHANGE.at) return exchange(context, sender);
    // A server of one file has none of the routes that the document lists.
    if (method === DOCUMENT.method && path === DOCUMENT.at && file === undefined) return document();
    return pageFiles({ method, path, known: () => headerOf(context, 'if-none-match') });
  };
}

const { exchange: EXCHANGE, document: DOCUMENT } = OPEN_SHAPES;

const ONLY_THE_PAGE = reject(
  'forbidden',
  '/origin',
  'only the page of this engine exchanges a code; open it in a browser',
);
