// The codes and tokens of pages: what a code gives, how long, how often, and what ends a token.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { OPERATOR } from '../../schemas/access.ts';
import { CODES_MAX, CODE_MS_MAX, PAGES_MAX } from '../../schemas/limits.ts';
import { type AskCode, PageCode, PageToken } from '../../schemas/pages.ts';
import { mustBe } from '../../src/client/must.ts';
import { type Pages, newPages } from '../../src/server/pages.ts';
import type { TokenHolder } from '../../src/server/token-holder.ts';

const ASKED = { scope: 'operator', name: 'ada' } as const;

interface World {
  readonly pages: Pages;
  readonly asker: TokenHolder;
  readonly pass: (ms: number) => void;
  /** Replaces the token of the asker. */
  readonly replace: () => void;
  readonly code: (asked?: AskCode) => string;
  readonly token: () => string;
}

function newWorld(access: TokenHolder['access'] = OPERATOR): World {
  let ms = 1_000;
  let current = true;
  const pages = newPages({ now: () => ms, elapsed: () => ms });
  const asker = { access, isCurrent: () => current };
  const code: World['code'] = (asked = ASKED) => mustBe(pages.ask(asker, asked)).code;
  return {
    pages,
    asker,
    code,
    token: () => mustBe(pages.exchange(code())).token,
    pass: (passed) => {
      ms += passed;
    },
    replace: () => {
      current = false;
    },
  };
}

const refusal = (pages: Pages, code: string): string => {
  const exchanged = pages.exchange(code);
  return isLeft(exchanged) ? exchanged.left.code : 'exchanged';
};

describe('a code', () => {
  test('gives one page a token with the scope and the name that were asked for', () => {
    const { pages, code } = newWorld();
    const given = code({ scope: 'viewer', name: 'ada' });
    const token = mustBe(pages.exchange(given));
    expect(token).toEqual({ token: expect.stringMatching(/^[\w-]{43}$/), scope: 'viewer', name: 'ada' });
    expect(PageToken.is(token)).toBe(true);
    expect(pages.find(token.token)?.access).toEqual({ scope: 'viewer', name: 'ada' });
    expect(refusal(pages, given)).toBe('unauthorized');
  });

  test('has 256 random bits, and is never given twice', () => {
    const { pages, asker } = newWorld();
    const codes = Array.from({ length: CODES_MAX }, () => mustBe(pages.ask(asker, ASKED)));
    expect(codes.every((code) => PageCode.is(code))).toBe(true);
    expect(new Set(codes.map(({ code }) => code)).size).toBe(CODES_MAX);
    for (const { code } of codes) expect(Buffer.from(code, 'base64url')).toHaveLength(32);
  });

  test.each([
    [CODE_MS_MAX - 1, 'exchanged'],
    [CODE_MS_MAX, 'unauthorized'],
  ])('is after %d ms: %s', (ms, outcome) => {
    const { pages, code, pass } = newWorld();
    const given = code();
    pass(ms);
    expect(refusal(pages, given)).toBe(outcome);
  });

  test('names the asking token when that has a name, and its scope when there is none', () => {
    const named = newWorld({ scope: 'operator', name: 'shop' });
    expect(mustBe(named.pages.exchange(named.code()))).toMatchObject({ name: 'shop' });
    const unnamed = newWorld();
    expect(mustBe(unnamed.pages.exchange(unnamed.code({ scope: 'viewer' })))).toMatchObject({ name: 'operator' });
  });

  test('is worth nothing once the token that asked for it is replaced', () => {
    const { pages, code, replace } = newWorld();
    const given = code();
    replace();
    expect(refusal(pages, given)).toBe('unauthorized');
  });

  test('is used up by a sender that must not have it', () => {
    const { pages, code } = newWorld();
    const given = code();
    const stranger = pages.exchange(given, () => 'another user');
    expect(stranger).toMatchObject({ left: { code: 'forbidden', message: 'another user' } });
    expect([refusal(pages, given), pages.list()]).toEqual(['unauthorized', { pages: [] }]);
  });

  test('is not given to a page', () => {
    const { pages, token } = newWorld();
    const page = pages.find(token());
    expect(page === null ? null : pages.ask(page, ASKED)).toMatchObject({ left: { code: 'forbidden_scope' } });
  });

  test('is refused while as many wait as there may be, until they are used or old', () => {
    const { pages, asker, code, pass } = newWorld();
    const first = code();
    for (let count = 1; count < CODES_MAX; count += 1) code();
    expect(pages.ask(asker, ASKED)).toMatchObject({ left: { code: 'queue_full' } });
    expect(refusal(pages, first)).toBe('exchanged');
    code();
    expect(pages.ask(asker, ASKED)).toMatchObject({ left: { code: 'queue_full' } });
    pass(CODE_MS_MAX);
    expect(pages.ask(asker, ASKED)).toMatchObject({ _tag: 'Right' });
  });

  test('is exchanged however many wrong ones came before: they lock nobody out', () => {
    const { pages, code } = newWorld();
    const wrong = Array.from({ length: 1_000 }, (_, at) => String(at));
    expect(new Set(wrong.map((guess) => refusal(pages, guess)))).toEqual(new Set(['unauthorized']));
    expect(refusal(pages, code())).toBe('exchanged');
  });
});

describe('the token of a page', () => {
  test('is listed without itself, and ends when it is revoked', () => {
    const { pages, token } = newWorld();
    const given = token();
    const holder = pages.find(given);
    expect(pages.list()).toEqual({ pages: [{ id: 'page.1', scope: 'operator', name: 'ada', since_ms: 1_000 }] });
    expect([pages.end('page.2'), pages.end('page.1'), pages.end('page.1')]).toEqual([false, true, false]);
    expect([pages.find(given), holder?.isCurrent()]).toEqual([null, false]);
    expect(pages.list()).toEqual({ pages: [] });
  });

  test('ends with the token for which it was given', () => {
    const { pages, token, replace } = newWorld();
    const given = token();
    expect(pages.find(given)).not.toBeNull();
    replace();
    expect([pages.find(given), pages.list()]).toEqual([null, { pages: [] }]);
  });

  test('is not found by any other text', () => {
    const { pages, token } = newWorld();
    expect(pages.find('')).toBeNull();
    const given = token();
    for (const other of ['', given.slice(1), `${given}x`, given.toUpperCase()]) expect(pages.find(other)).toBeNull();
  });

  test('ends that of the page that was used longest ago when there are too many', () => {
    const { pages, token } = newWorld();
    const tokens = Array.from({ length: PAGES_MAX }, () => token());
    expect(pages.find(tokens[0] ?? '')).not.toBeNull();
    token();
    expect(pages.list().pages).toHaveLength(PAGES_MAX);
    expect(tokens.filter((given) => pages.find(given) === null)).toEqual([tokens[1]]);
  });
});
