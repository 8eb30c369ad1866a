// How a page in a browser gets a token of its own: an operator asks for a code, and the page exchanges it, once.
import { TokenName } from './access.ts';
import { type TypeOf, integer, list, oneOf, shape, text } from './codec.ts';
import { TimeMs } from './ids.ts';
import { CODE_MS_MAX, PAGES_MAX } from './limits.ts';

/** What a page may do: all that an operator may, or read. */
export const PageScope = oneOf('the scope of a page', ['operator', 'viewer']);
export type PageScope = TypeOf<typeof PageScope>;

/** A request for a code. `name`: whose events the page sends; that of the asking token, if it has one, comes first. */
export const AskCode = shape('AskCode', { scope: PageScope }, { name: TokenName });
export type AskCode = TypeOf<typeof AskCode>;

const Secret = text('a secret', { min: 43, max: 43, pattern: /^[A-Za-z0-9_-]+$/ });

/** A code, and for how long it can be exchanged. */
export const PageCode = shape('PageCode', { code: Secret, valid_ms: integer('a time', 1, CODE_MS_MAX) });
export type PageCode = TypeOf<typeof PageCode>;

/** What a page gets for its code. `file`: the server serves this one file, and no engine. */
export const PageToken = shape(
  'PageToken',
  { token: Secret, scope: PageScope, name: TokenName },
  { file: shape('PageFile', { name: text('a name', { max: 255 }), bytes: integer('a size', 0) }) },
);
export type PageToken = TypeOf<typeof PageToken>;

/** The id of a page that has a token. Its dot keeps it apart from the name of a token file. */
export const PageId = text('PageId', { max: 32, pattern: /^page\.\d+$/ });
export type PageId = TypeOf<typeof PageId>;

/** The pages that have a token, without it; the one that was used longest ago first. */
export const PageList = shape('PageList', {
  pages: list(shape('ListedPage', { id: PageId, scope: PageScope, name: TokenName, since_ms: TimeMs }), PAGES_MAX),
});
export type PageList = TypeOf<typeof PageList>;
