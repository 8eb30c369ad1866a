// The requests of operators about pages: for a code that a page exchanges for a token, for a list of the pages that have
// one, and to end one.
import type { Context } from 'hono';
import { type Either, chain, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { RouteName } from '../../schemas/access.ts';
import { decode } from '../../schemas/codec.ts';
import { AskCode } from '../../schemas/pages.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { readJson } from './body.ts';
import { type Guarded, unauthorized } from './guard.ts';
import type { Pages } from './pages.ts';
import { problemResponse } from './problem.ts';

export type PageRoute = Extract<RouteName, 'askCode' | 'pages' | 'endPage'>;

type PageHandler = (context: Context<Guarded>) => Promise<Response>;

/** Without `pages`, as in an application that serves none, each answers `not_found`. */
export function pageHandlers(pages?: Pages): Readonly<Record<PageRoute, PageHandler>> {
  const handler =
    (
      work: (context: Context<Guarded>, pages: Pages) => Promise<Either<Rejection, object>>,
      status = 200,
    ): PageHandler =>
    async (context) => {
      const done = pages === undefined ? left(NO_PAGES) : await work(context, pages);
      return isLeft(done)
        ? problemResponse(done.left)
        : Response.json(done.right, { status, headers: { 'cache-control': 'no-store' } });
    };
  return {
    askCode: handler(async (context, known) => {
      const body = await readJson(context);
      const holder = context.get('holder');
      if (!holder.isCurrent()) return left(unauthorized());
      return pipe(
        body,
        chain((request) => decode(AskCode, request)),
        chain((asked) => known.ask(holder, asked)),
      );
    }, 201),
    pages: handler(async (_context, known) => right(known.list())),
    endPage: handler(async (context, known) => {
      const id = context.req.param('id') ?? '';
      return known.end(id) ? right({ id }) : left(reject('not_found', '', `there is no page "${id}"`));
    }),
  };
}

const NO_PAGES = reject('not_found', '', 'this server was started without a page');
