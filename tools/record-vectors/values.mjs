// Lines that are not JSON in UTF-8, and values outside of the value domain. Where a careless reader would find the same
// digests, only the check of the value finds the fault.
import { chained, respelled, textOf } from './stream.mjs';
import { observed } from './sessions.mjs';
import { bad } from './vector.mjs';

/** So many arrays, one in another. */
export const nested = (depth) => (depth === 1 ? [] : [nested(depth - 1)]);

const base = textOf(observed({ x: 0 }));
const X = '"arguments":{"x":0}';
const put = (to) => respelled(base, X, `"arguments":${to}`);
const linkedAnew = (args) => {
  const records = observed({ x: 0 });
  records[3].events[0].calls[0].arguments = args;
  return chained(records);
};

const CASES = [
  ['minus-zero', '-0', put('{"x":-0}')],
  ['minus-zero-fraction', '-0.0', put('{"x":-0.0}')],
  ['minus-zero-underflow', '-1e-400, which no double holds but -0', put('{"x":-1e-400}')],
  ['nan', 'NaN', put('{"x":NaN}')],
  ['infinity', '-Infinity', put('{"x":-Infinity}')],
  ['too-large-number', '1e400', put('{"x":1e400}')],
  ['leading-zero', 'the number 00', put('{"x":00}')],
  ['plus', 'the number +0', put('{"x":+0}')],
  ['bare-fraction', 'the number 0.', put('{"x":0.}')],
  ['hex', 'the number 0x0', put('{"x":0x0}')],
  ['duplicate-key', 'a key twice', put('{"x":1,"x":0}')],
  ['duplicate-key-escaped', 'a key twice, once escaped', put('{"\\u0078":1,"x":0}')],
  ['proto-key', 'the key __proto__, linked anew', textOf(linkedAnew(JSON.parse('{"__proto__":0}')))],
  ['lone-surrogate', 'a lone high surrogate', put('{"x":"\\ud800"}')],
  ['lone-low-surrogate', 'a lone low surrogate', put('{"x":"\\udc00\\ud800"}')],
  ['lone-surrogate-key', 'a lone surrogate in a key', put('{"\\udfff":0}')],
  ['nested-65', 'a line of 65 nested containers, linked anew', textOf(linkedAnew({ a: nested(59) }))],
  ['control-character', 'a tab in a string, not escaped', put('{"x":"\t"}')],
  ['bad-escape', 'the escape \\x', put('{"x":"\\x41"}')],
  ['trailing-comma', 'a comma before the end of an object', put('{"x":0,}')],
  ['comment', 'a comment', put('{"x":0/**/}')],
  ['single-quotes', 'single quotes', put("{'x':0}")],
  ['no-break-space', 'a no-break space between tokens', put('{"x":\u00a00}')],
  ['form-feed', 'a form feed between tokens', put('{"x":\f0}')],
];

export const values = () => [
  ...CASES.map(([name, about, content]) => bad(`values/${name}.jsonl`, `arguments with ${about}`, content, 1)),
  bad('values/byte-order-mark.jsonl', 'a byte order mark at the start', `\ufeff${base}`, -1),
  bad(
    'values/byte-order-mark-inside.jsonl',
    'a byte order mark before the last line',
    base.replace(/\n(?=[^\n]+\n$)/, '\n\ufeff'),
    1,
  ),
  bad('values/odd-blank-line.jsonl', 'a line with a no-break space only, at the end', `${base}\u00a0\n`, 2),
  bad('values/null-byte.jsonl', 'a line with a null character only, at the end', `${base}\0\n`, 2),
  bad('values/two-values.jsonl', 'a second value after the last record, on its line', `${base.trimEnd()} {}\n`, 1),
  bad('values/invalid-utf-8.jsonl', 'a byte that is not UTF-8', bytes(0xff), 1),
  bad('values/overlong-utf-8.jsonl', 'a slash in two bytes of UTF-8', bytes(0xc0, 0xaf), 1),
  bad('values/surrogate-utf-8.jsonl', 'a surrogate in three bytes of UTF-8', bytes(0xed, 0xa0, 0x80), 1),
  bad('values/beyond-unicode.jsonl', 'a code point above U+10FFFF in four bytes', bytes(0xf4, 0x90, 0x80, 0x80), 1),
];

/** A string of these bytes in the arguments. */
function bytes(...given) {
  const [before, after] = put('{"x":"@@"}').split('@@');
  return Buffer.concat([Buffer.from(before), Buffer.from(given), Buffer.from(after)]);
}
