// Every known secret of at least 16 characters is found in every spelling, wherever it stands, and nothing else is changed.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { patternsOf } from '../../../bridge/secrets/secret-patterns.ts';
import { secretsOfUrl, shortSecretNotes } from '../../../bridge/secrets/known-secrets.ts';
import { SECRET_MARK, createRedactor } from '../../../bridge/secrets/redactor.ts';
import { roundsOf } from '../../support/random.ts';

const escapeAll = (text: string, one: (unit: string) => string): string => Array.from(text, one).join('');
const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
const wrapped = (text: string, width: number): string => text.replaceAll(new RegExp(`(.{${width}})`, 'g'), '$1\n');
const html = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (unit) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[unit] ?? '&#39;');
const percent = (text: string): string => escapeAll(text, (unit) => encodeURIComponent(unit));

const SPELLINGS: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  'hex, lower case': (secret) => utf8(secret).toString('hex'),
  'hex, upper case': (secret) => utf8(secret).toString('hex').toUpperCase(),
  'hex with colons': (secret) =>
    utf8(secret)
      .toString('hex')
      .replaceAll(/(..)(?=.)/g, '$1:'),
  'hex in lines': (secret) => wrapped(utf8(secret).toString('hex'), 60),
  'C bytes': (secret) => utf8(secret).toString('hex').replaceAll(/(..)/g, '\\x$1'),
  'octal bytes': (secret) => [...utf8(secret)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  HTML: html,
  'HTML, twice': (secret) => html(html(secret)),
  'HTML, all decimal': (secret) => escapeAll(secret, (unit) => `&#${unit.codePointAt(0)};`),
  'HTML, all hexadecimal': (secret) => escapeAll(secret, (unit) => `&#x${hex(unit.codePointAt(0) as number, 4)};`),
  JSON: json,
  'JSON in JSON': (secret) => json(json(secret)),
  'JSON in JSON in JSON': (secret) => json(json(json(secret))),
  'JSON with escaped slashes': (secret) => json(secret).replaceAll('/', '\\/'),
  'JSON, ASCII only': (secret) => json(secret).replaceAll(/[^ -~]/g, (unit) => `\\u${hex(unit.charCodeAt(0), 4)}`),
  'JSON, all escaped': (secret) =>
    secret
      .split('')
      .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
      .join(''),
  'JSON of HTML, with escaped ampersands': (secret) => html(secret).replaceAll('&', '\\u0026'),
  percent: percent,
  'percent, lower case': (secret) => percent(secret).replaceAll(/%../g, (byte) => byte.toLowerCase()),
  'percent, twice': (secret) => percent(percent(secret)),
  'percent, all': (secret) => utf8(secret).toString('hex').replaceAll(/(..)/g, '%$1'),
  'a form field': (secret) => new URLSearchParams({ a: secret }).toString().slice(2),
  ...Object.fromEntries(
    ['', 'u', 'u:', 'user:'].flatMap((before) =>
      (['base64', 'base64url'] as const).flatMap((encoding) => {
        const encode = (secret: string): string => utf8(`${before}${secret}`).toString(encoding);
        return [
          [`${encoding} after '${before}'`, encode],
          [
            `${encoding} after '${before}' with more behind`,
            (secret: string) => utf8(`${before}${secret}\nx`).toString(encoding),
          ],
          [`${encoding} after '${before}' in lines`, (secret: string) => wrapped(encode(secret), 76)],
          [
            `${encoding} after '${before}' in JSON`,
            (secret: string) => json(wrapped(encode(secret), 20)).replaceAll('/', '\\/'),
          ],
          [`${encoding} after '${before}' in a URL`, (secret: string) => encodeURIComponent(encode(secret))],
        ];
      }),
    ),
  ),
};

/** Characters that some spelling treats in its own way are frequent. */
const secrets = fc
  .array(
    fc.oneof(
      fc.constantFrom(...Array.from('aZ09+/&<>"\'\\%=_-: \n\u00e4\u20ac\u{1f511}nu25x')),
      fc.constantFrom('b', 'c', 'd', 'f', 'g', 'k'),
    ),
    {
      minLength: 16,
      maxLength: 48,
    },
  )
  .map((characters) => characters.join('').trim())
  .filter((secret) => secret.length >= 16 && new Set(secret).size > 4);

describe('a known secret', () => {
  // Around a secret stands text that cannot be part of it, so that exactly the secret must be gone.
  const before = '{"log": "line 1 ~ ';
  const after = ' ~ end"}';

  test.each(Object.keys(SPELLINGS))('is replaced, spelled as %s', (name) => {
    const spell = SPELLINGS[name] as (secret: string) => string;
    fc.assert(
      fc.property(secrets, (secret) => {
        const spelled = spell(secret);
        const shown = createRedactor([secret]).text(`${before}${spelled}${after}`);
        expect(shown).toContain(SECRET_MARK);
        const left = shown.slice(before.length, shown.length - after.length).replaceAll('\n', '');
        // What remains says nothing of the secret: of base64 the text around it, else a piece of the escape at its edge.
        const rest = name.startsWith('base64')
          ? /^.{0,12}‹secret›.{0,12}$/u
          : /^\\*‹secret›(?:(?:amp;|25)*|#[x0-9a-f]+;)$/u;
        expect(left).toMatch(rest);
        expect(shown.startsWith(before) && shown.endsWith(after)).toBe(true);
      }),
      { numRuns: roundsOf(3, 500) },
    );
  });

  test('is not longer in any spelling than the reach that cuts leave for it', () => {
    fc.assert(
      fc.property(secrets, fc.constantFrom(...Object.values(SPELLINGS)), (secret, spell) => {
        const reach = Math.max(...patternsOf(secret).map(({ bytesMax }) => bytesMax));
        expect(utf8(spell(secret)).length).toBeLessThanOrEqual(reach);
      }),
    );
  });

  test('is replaced where chunks divide it: what was shown before never holds its beginning', () => {
    fc.assert(
      fc.property(secrets, fc.constantFrom(...Object.values(SPELLINGS)), fc.nat(400), (secret, spell, at) => {
        const redactor = createRedactor([secret]);
        const bytes = utf8(`~~~ ${spell(secret)} ~~~`);
        const cut = Math.min(at, bytes.length);
        const first = bytes.subarray(0, cut);
        const shown = first.length - redactor.pending(first);
        const whole = redactor.window(bytes, 0, bytes.length).toString('latin1');
        const pieces = [redactor.window(bytes, 0, shown), redactor.window(bytes, shown, bytes.length)];
        const mark = utf8(SECRET_MARK).toString('latin1');
        const visible = (text: string): string => text.replaceAll(mark, '').replaceAll('\n', '');
        expect(visible(Buffer.concat(pieces).toString('latin1'))).toBe(visible(whole));
      }),
      { numRuns: roundsOf(50, 3_000) },
    );
  });

  test('is replaced in values and keys, and a value without secrets stays the same object', () => {
    const redactor = createRedactor(['sixteen-characters']);
    const clean = { a: ['b', { c: 1, d: null, e: true }] };
    expect(redactor.value(clean)).toBe(clean);
    expect(redactor.value({ a: [{ 'sixteen-characters': 'x sixteen-characters' }] })).toEqual({
      a: [{ [SECRET_MARK]: `x ${SECRET_MARK}` }],
    });
  });

  test('keeps the lines of the text after it', () => {
    const key = '-----BEGIN KEY-----\nabcdefgh\n-----END KEY-----';
    expect(createRedactor([key]).text(`a\n${key}\nb`)).toBe(`a\n${SECRET_MARK}\n\n\nb`);
    expect(createRedactor([key]).text(`a\r\n${key.replaceAll('\n', '\r\n')}`)).toBe(`a\r\n${SECRET_MARK}\n\n`);
  });

  test('that overlaps another is replaced with it', () => {
    const redactor = createRedactor(['0123456789abcdefgh', 'abcdefghijklmnopqr']);
    expect(redactor.text('<0123456789abcdefghijklmnopqr>')).toBe(`<${SECRET_MARK}>`);
  });

  test('a backslash before it that belongs to the text stays', () => {
    expect(createRedactor(['name-of-a-secret']).text('C:\\name-of-a-secret')).toBe(`C:\\${SECRET_MARK}`);
  });
});

describe('nothing else', () => {
  test('is changed: a secret of fewer than 16 characters is never replaced', () => {
    const redactor = createRedactor(['test', 'x', 'ollama', '123456789012345', '', '   ']);
    const text = 'test x ollama 123456789012345 and 3132333435363738393031323334 35';
    expect(redactor.text(text)).toBe(text);
    expect(redactor.reach).toBe(0);
  });

  test('is changed: parts of a secret, and texts without one', () => {
    fc.assert(
      fc.property(secrets, fc.string({ unit: 'binary', maxLength: 200 }), fc.nat(47), (secret, text, at) => {
        const redactor = createRedactor([secret]);
        const part = secret.slice(0, Math.min(at, secret.length - 2)).toWellFormed();
        const well = `${text.toWellFormed()}~${part}~`;
        expect(redactor.text(well)).toBe(well);
      }),
      { numRuns: roundsOf(50, 3_000) },
    );
  });
});

describe('time', () => {
  const MEGABYTES = 0.25;
  const secret = 'sk-proj-9aZk37Qm2LxW81bTnVcRf0Yd';
  const timeOf = (unit: string): number => {
    const bytes = Buffer.alloc(MEGABYTES * 1_048_576, unit);
    const redactor = createRedactor([secret, 'aaaaaaaaaaaaaaab', '&amp;&amp;&amp;&amp;', '%25%25%25%25%25%25']);
    const start = process.cpuUsage();
    redactor.window(bytes, 0, bytes.length);
    return process.cpuUsage(start).user / 1_000;
  };

  // About 3 ms a megabyte for ordinary text, up to 300 for hostile one. What grows with the square would take minutes.
  test.each([
    'log line 12 ok\n',
    '\\',
    '\\u0073',
    '&',
    '&amp;',
    '&#115;',
    '%25',
    '%',
    'sk-proj-',
    'a',
    '0',
    secret,
    '&#',
  ])('is in proportion to the text, also for %j', (unit) => {
    expect(timeOf(unit)).toBeLessThan(MEGABYTES * 4_000);
  });
});

describe('the secrets of a process', () => {
  test('that are too short are named by their source, and never by their value', () => {
    const notes = shortSecretNotes([
      { source: 'OPENAI_API_KEY', value: 'ollama' },
      { source: 'GH_TOKEN', value: 'x'.repeat(16) },
      { source: 'EMPTY_TOKEN', value: '' },
    ]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain('the secret from OPENAI_API_KEY has fewer than 16 characters');
    expect(notes[0]).not.toContain('ollama');
  });

  test('include the password of the model server', () => {
    const values = secretsOfUrl('https://me:p%40ssword-of-16-ch@host/v1', '--base-url').map(({ value }) => value);
    expect(values).toEqual(['me', 'me', 'p%40ssword-of-16-ch', 'p@ssword-of-16-ch']);
    expect(secretsOfUrl('no url', '--base-url')).toEqual([]);
  });
});
