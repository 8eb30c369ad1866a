// The pages in browsers that have a token. A page gets its token for a code, which an operator asked for; code and token are
// 256 random bits each, and only their digests are kept: those of codes in memory, those of tokens in a file as well, so that
// a page goes on after its engine was killed.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Either, chain, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { CODES_MAX, CODE_MS_MAX, PAGES_MAX } from '../../schemas/limits.ts';
import type { AskCode, PageCode, PageList, PageScope, PageToken } from '../../schemas/pages.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { KeptPage, KeptPages } from './kept-pages.ts';
import type { TokenHolder } from './token-holder.ts';

export interface Pages {
  /** A code for a page that acts for this holder, as long as the token of the holder is accepted. */
  ask(asker: TokenHolder, asked: AskCode): Either<Rejection, PageCode>;
  /**
   * The token of a new page. `unauthorized` for a code that was used, is too old, or was never given. `refuse`: why the sender
   * of a right code gets nothing, or null; the code is used in either case.
   */
  exchange(code: string, refuse?: () => string | null): Either<Rejection, PageToken>;
  /** The page with this token; null for an unknown one. Takes the same time for each wrong one. */
  find(token: string): TokenHolder | null;
  list(): PageList;
  /** Ends the token of a page; false when there is no such page. */
  end(id: string): boolean;
}

export interface PageClock {
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** In milliseconds since any moment; never set back. */
  readonly elapsed: () => number;
}

const SYSTEM: PageClock = { now: () => Date.now(), elapsed: () => performance.now() };

interface Allowed {
  readonly asker: TokenHolder;
  readonly scope: PageScope;
  readonly name: string;
}

interface Code extends Allowed {
  readonly digest: Buffer;
  readonly atMs: number;
}

interface Page extends Allowed {
  readonly id: string;
  readonly digest: Buffer;
  readonly holder: TokenHolder;
  readonly sinceMs: number;
}

/** `kept`: where the pages of an earlier server are, and these are put. */
export function newPages(clock: PageClock = SYSTEM, kept?: KeptPages): Pages {
  const codes = newCodes(clock);
  const tokens = newPageTokens(clock, kept);
  return {
    ...tokens,
    ask(asker, { scope, name }) {
      if (asker.isPage !== true) {
        return codes.make({ asker, scope, name: asker.access.name ?? name ?? asker.access.scope });
      }
      return left(reject('forbidden_scope', '', 'a page gets no codes for others; ask with an operator token'));
    },
    exchange: (code, refuse = () => null) =>
      pipe(
        codes.take(code),
        chain((allowed) => {
          const refused = refuse();
          return refused === null ? right(allowed) : left(reject('forbidden', '', refused));
        }),
        map((allowed) => ({ token: tokens.add(allowed), scope: allowed.scope, name: allowed.name })),
      ),
  };
}

interface Codes {
  make(allowed: Allowed): Either<Rejection, PageCode>;
  /** Each code once. */
  take(code: string): Either<Rejection, Allowed>;
}

function newCodes({ elapsed }: PageClock): Codes {
  let codes: readonly Code[] = [];

  const forgetOld = (): void => {
    codes = codes.filter(({ atMs, asker }) => elapsed() - atMs < CODE_MS_MAX && asker.isCurrent());
  };

  return {
    make(allowed) {
      forgetOld();
      if (codes.length >= CODES_MAX) return left(TOO_MANY_CODES);
      const code = newSecret();
      codes = [...codes, { ...allowed, digest: digestOf(code), atMs: elapsed() }];
      return right({ code, valid_ms: CODE_MS_MAX });
    },
    take(code) {
      forgetOld();
      // Wrong codes are not counted: 256 bits cannot be guessed, and a limit would let anyone lock others out.
      const found = findIn(codes, code);
      if (found === null) return left(WRONG_CODE);
      codes = codes.filter((other) => other !== found);
      return right(found);
    },
  };
}

interface PageTokens extends Pick<Pages, 'find' | 'list' | 'end'> {
  /** The token of a new page. */
  add(allowed: Allowed): string;
}

function newPageTokens({ now }: PageClock, kept?: KeptPages): PageTokens {
  /** By id; the one that was used longest ago first. */
  const pages = new Map<string, Page>();
  let made = 0;

  function put(id: string, page: Omit<Page, 'id' | 'holder'>): void {
    const { scope, name, asker } = page;
    const holder: TokenHolder = {
      access: { scope, name },
      isPage: true,
      isCurrent: () => pages.has(id) && asker.isCurrent(),
    };
    pages.set(id, { ...page, id, holder });
    made = Math.max(made, Number(id.slice('page.'.length)));
  }

  function makeRoom(): void {
    for (const { id, holder } of pages.values()) if (!holder.isCurrent()) pages.delete(id);
    const [oldest] = pages.keys();
    if (pages.size >= PAGES_MAX && oldest !== undefined) pages.delete(oldest);
  }

  const keep = (): void => kept?.write([...pages.values()].flatMap(keptOf));

  if (kept !== undefined) {
    for (const page of kept.read()) {
      const { id, scope, name, since_ms: sinceMs } = page;
      put(id, { asker: kept.askerOf(page), scope, name, sinceMs, digest: Buffer.from(page.digest, 'hex') });
    }
  }

  return {
    add({ asker, scope, name }) {
      const token = newSecret();
      makeRoom();
      put(`page.${made + 1}`, { asker, scope, name, digest: digestOf(token), sinceMs: now() });
      keep();
      return token;
    },
    find(token) {
      const found = pages.size === 0 ? null : findIn([...pages.values()], token);
      if (found === null || !found.holder.isCurrent()) return null;
      // It is the one that was used last now.
      pages.delete(found.id);
      pages.set(found.id, found);
      return found.holder;
    },
    list: () => ({
      pages: [...pages.values()]
        .filter(({ holder }) => holder.isCurrent())
        .map(({ id, scope, name, sinceMs }) => ({ id, scope, name, since_ms: sinceMs })),
    }),
    end(id) {
      const wasThere = pages.delete(id);
      if (wasThere) keep();
      return wasThere;
    },
  };
}

/** A page whose asker has no token in a file ends with the server. */
const keptOf = ({ id, scope, name, sinceMs, digest, asker }: Page): readonly KeptPage[] =>
  asker.file === undefined
    ? []
    : [{ id, scope, name, since_ms: sinceMs, digest: digest.toString('hex'), asker: asker.file }];

const newSecret = (): string => randomBytes(32).toString('base64url');
const digestOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** Compares with every digest in constant time. */
function findIn<T extends { readonly digest: Buffer }>(known: readonly T[], given: string): T | null {
  const digest = digestOf(given);
  let found: T | null = null;
  for (const one of known) if (timingSafeEqual(one.digest, digest)) found = one;
  return found;
}

const TOO_MANY_CODES = reject(
  'queue_full',
  '',
  `${CODES_MAX} codes wait to be exchanged already; each does so for at most ${CODE_MS_MAX} ms`,
);

const WRONG_CODE = reject(
  'unauthorized',
  '/authorization',
  `the code was used, is older than ${CODE_MS_MAX} ms, or was never given; get another one: refold open`,
);
