// What needs no token: the files of the page, and the exchange of a code for one.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { PageToken } from '../../schemas/pages.ts';
import { reject } from '../../schemas/rejection.ts';
import { refuseConnectingStranger } from '../files/connecting-user.ts';
import { type OpenRoutes, type Sender, refusalResponse } from './guard.ts';
import { headerOf, incomingOf } from './headers.ts';
import { newPageFiles } from './page-files.ts';
import type { Pages } from './pages.ts';

/** `file`: what the server serves in place of an engine. */
export function newOpenRoutes(directory: string, pages: Pages, file?: PageToken['file']): OpenRoutes {
  const pageFiles = newPageFiles(directory);

  async function exchange(context: Parameters<OpenRoutes>[0], sender: Sender): Promise<Response> {
    if (sender !== 'page') return refusalResponse(ONLY_THE_PAGE);
    const code = /^Code (\S+)$/.exec(headerOf(context, 'authorization') ?? '')?.[1] ?? '';
    const socket = incomingOf(context)?.socket;
    const exchanged = pages.exchange(code, () => (socket === undefined ? null : refuseConnectingStranger(socket)));
    if (isLeft(exchanged)) return refusalResponse(exchanged.left);
    const token: PageToken = { ...exchanged.right, ...(file === undefined ? {} : { file }) };
    return Response.json(token, { status: 201, headers: { 'cache-control': 'no-store' } });
  }

  return (context, sender) => {
    const { method, path } = context.req;
    if (method === 'POST' && path === EXCHANGE) return exchange(context, sender);
    return pageFiles({ method, path, known: () => headerOf(context, 'if-none-match') });
  };
}

const EXCHANGE = '/v1/codes/exchange';

const ONLY_THE_PAGE = reject(
  'forbidden',
  '/origin',
  'only the page of this engine exchanges a code; open it in a browser',
);
