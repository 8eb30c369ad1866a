// The sessions that the vectors are made of.
import assert from 'node:assert/strict';
import { newForker } from '../../dist/src/core/index.js';
import { Recorder, call, say } from '../record-fixtures/recorder.mjs';
import { packageOf, tool } from '../record-fixtures/tools.mjs';
import { recordsOf, textOf } from './stream.mjs';

const LOOK = tool('look', { read_only: true, destructive: false, parallelism_hint: { parallel_safe: true } });
const SEND = tool('send');

const newSession = (id, tools = [LOOK, SEND]) => new Recorder(id, { tool_package: packageOf(tools) });

/** A session without events. */
export const minimal = recordsOf(newSession('minimal', []).text);

/** One event. */
export const single = recordsOf(
  newSession('single', []).takes('SessionConfigured', { config: { model: 'small' } }).text,
);

/** Seven events in four commits: 0, 1, 2-3 and 4-6. */
export const story = (answer = 'All is sent.', id = 'story') =>
  newSession(id)
    .runs('Look, then send.')
    .observes([call('a', 'look'), call('b', 'send', { to: 'Zoë', count: 2 })])
    .together((session) => session.settles('a').starts('b'))
    .together((session) => session.settles('b').settlesBatch().answers(answer));

export const plain = recordsOf(story().text);

/** As many events as given, in one commit. */
export function many(count) {
  const session = newSession('many', []);
  const configure = () => {
    for (let made = 0; made < count; made += 1) session.takes('SessionConfigured', { config: {} });
  };
  session.together(configure);
  return recordsOf(session.text);
}

/** One event for each commit, although a bridge would send several together. */
export const oneByOne = recordsOf(
  newSession('one-by-one')
    .runs('Send it.')
    .observes([call('a', 'send')])
    .starts('a')
    .settles('a')
    .settlesBatch()
    .answers('Sent.').text,
);

/** The call that the value vectors change. */
export const observed = (args) =>
  recordsOf(
    newSession('values', [LOOK])
      .runs('Look.')
      .observes([call('a', 'look', args)]).text,
  );

/** A fork of {@link plain} after the first `at` events. */
export function forkOf(session_id, at) {
  const whole = plain.findLast((record) => record.kind !== 'package' && endOf(record) <= at);
  const forker = newForker({ session_id, at, chain: whole.chain, run: 'pause', at_ms: 1_767_225_700_000 });
  const records = plain.flatMap((record) => {
    const added = forker.add(record);
    assert.equal(added._tag, 'Right');
    return added.right === null ? [] : [added.right];
  });
  const end = forker.finish();
  assert.equal(end._tag, 'Right');
  return recordsOf(textOf([...records, ...end.right.commits]));
}

/** The number of events up to the end of a record. */
export const endOf = (record) => (record.kind === 'commit' ? record.position + record.events.length : 0);

const POINTS = Array.from({ length: 0xa0 }, (_, point) => String.fromCodePoint(point)).join('');

/** Every edge of numbers, strings and keys. */
export const oddArguments = {
  integers: [0, 1, -1, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 9007199254740994, -9007199254740996, 123456789012345680000],
  notation: [1e20, 999999999999999900000, 1e21, 1e22, 1e23, 1.5e300, 0.000001, 0.0000012, 1e-7, 9.5e-7, 1.25e-10],
  doubles: [
    0.5,
    0.1,
    0.1 + 0.2,
    4.5,
    333333333.3333333,
    1 / 3,
    -123456.789,
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    2 ** -1017,
    2 ** -44,
    8.209073602596753e-289,
  ],
  ascii: POINTS,
  unicode:
    '\u2028\u2029\u00a0\ufeff\ufffd\ufffe\uffff\u{1f600}\u{10000}\u{10ffff}\u{1ffff}e\u0301\u00e9\u0130\u0131\u00df',
  keys: {
    '': 1,
    10: 2,
    9: 3,
    '1e1': 4,
    A: 5,
    a: 6,
    '\u00f6': 7,
    '\u20ac': 8,
    '\r': 9,
    '\u0080': 10,
    '\u{1f600}': 11,
    '\ufb33': 12,
    '\uffff': 13,
    '\u{10000}': 14,
    constructor: 15,
    '"\\': 16,
    'e\u0301': 17,
    '\u00e9': 18,
  },
  empty: [{}, [], '', null, true, false],
};

export const odd = recordsOf(
  newSession('odd-values', [LOOK])
    .runs('Zażółć gęślą jaźń, \u202eright to left\u202c.')
    .observes([call('a', 'look', oddArguments)], { content: say('👍🏽 \u0000\u001f') }).text,
);
