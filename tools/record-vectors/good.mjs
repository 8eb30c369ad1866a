// Files that verify, with a fold and without.
import { canonicalText } from '../../dist/schemas/index.js';
import { textOf } from './stream.mjs';
import { forkOf, many, minimal, observed, odd, oneByOne, plain, single } from './sessions.mjs';
import { nested } from './values.mjs';
import { ok } from './vector.mjs';

export const good = () => [
  ok('good/minimal.jsonl', 'a tool package without tools, a genesis, no commit', textOf(minimal)),
  ok('good/single.jsonl', 'one commit of one event', textOf(single)),
  ok('good/plain.jsonl', 'seven events in commits of one, one, two and three', textOf(plain)),
  ok('good/one-by-one.jsonl', 'six commits of one event each', textOf(oneByOne)),
  ok('good/largest-commit.jsonl', 'one commit of 256 events', textOf(many(256))),
  ok(
    'good/fork-at-end.jsonl',
    'a fork of plain.jsonl where a commit ends: its commits are copied whole',
    textOf(forkOf('fork-at-end', 4)),
  ),
  ok(
    'good/fork-inside.jsonl',
    'a fork of plain.jsonl inside a commit: the shared rest is committed anew',
    textOf(forkOf('fork-inside', 3)),
  ),
  ok('good/fork-at-start.jsonl', 'a fork of plain.jsonl before its first event', textOf(forkOf('fork-at-start', 0))),
  ok(
    'good/odd-values.jsonl',
    'numbers at the edges of their notation, every control character, keys in UTF-16 order',
    textOf(odd),
  ),
  ok(
    'good/respelled.jsonl',
    'odd-values.jsonl in other spellings: white space, key order, escapes, numbers, blank lines',
    respelledText(odd),
  ),
  ok('good/nested-64.jsonl', 'a line of 64 nested containers', textOf(observed({ a: nested(58) }))),
  ok('good/no-final-line-feed.jsonl', 'plain.jsonl without the line feed of its last line', textOf(plain).trimEnd()),
];

/** The same values in other JSON, so that every digest is the same. */
function respelledText(records) {
  const lines = records.map((record) => spell(JSON.parse(canonicalText(record))));
  return ['', ...lines, ' \t\v\f\r'].map((line) => `${line}\r\n\t\n`).join('');
}

function spell(value) {
  if (typeof value === 'number') return spellNumber(value);
  if (typeof value === 'string') return spellText(value);
  if (Array.isArray(value)) return `[\t${value.map(spell).join(' ,\r')} ]`;
  if (value === null || typeof value === 'boolean') return String(value);
  const fields = Object.entries(value).toReversed();
  return `{ ${fields.map(([key, item]) => `${spellText(key)}\t:  ${spell(item)}`).join(' , ')}\r}`;
}

/** 9007199254740993 is read as the double 9007199254740992, and 1e-400 as 0. */
function spellNumber(value) {
  if (value === 0) return '1e-400';
  if (value === 2 ** 53) return '9007199254740993';
  if (Number.isSafeInteger(value)) return value % 10 === 0 ? `${value / 10}E+1` : `${value}.000`;
  const [digits, exponent = '0'] = value.toExponential().split('e');
  return `${digits.includes('.') ? digits : `${digits}.`}000E${exponent.replace('+', '')}`;
}

const spellText = (text) =>
  `"${Array.from({ length: text.length }, (_, unit) => {
    const code = text.charCodeAt(unit);
    if (code === 0x2f) return '\\/';
    return /[a-zA-Z0-9]/.test(text[unit]) ? text[unit] : `\\u${code.toString(16).padStart(4, '0').toUpperCase()}`;
  }).join('')}"`;
