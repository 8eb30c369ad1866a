// The requests of operators about pages: for a code that a page exchanges for a token, for a list of the pages that have
// one, and to end one.
import { chain, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { RouteName } from '../../schemas/access.ts';
import { decode } from '../../schemas/codec.ts';
import { AskCode } from '../../schemas/pages.ts';
import { reject } from '../../schemas/rejection.ts';
import type { Handlers } from './handler.ts';
import type { Pages } from './pages.ts';

export type PageRoute = Extract<RouteName, 'askCode' | 'pages' | 'endPage'>;

/** Without `pages`, as in an application that serves none, each answers `not_found`. */
export function pageHandlers(pages?: Pages): Handlers<PageRoute> {
  return {
    askCode: async ({ holder, body }) => {
      if (pages === undefined) return left(NO_PAGES);
      return pipe(
        await body(),
        chain((request) => decode(AskCode, request)),
        chain((asked) => pages.ask(holder, asked)),
      );
    },
    pages: async () => (pages === undefined ? left(NO_PAGES) : right(pages.list())),
    endPage: async ({ of: id }) => {
      if (pages === undefined) return left(NO_PAGES);
      return pages.end(id) ? right({ id }) : left(reject('not_found', '', `there is no page "${id}"`));
    },
  };
}

const NO_PAGES = reject('not_found', '', 'this server was started without a page');
