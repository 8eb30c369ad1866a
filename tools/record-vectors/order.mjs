// Records and events that are swapped, missing, repeated, merged, split or cut.
import { chained, edited, editedAndChained, textOf } from './stream.mjs';
import { forkOf, many, minimal, plain, single } from './sessions.mjs';
import { bad, badInFold, ok } from './vector.mjs';

const [PACKAGE, GENESIS, FIRST, SECOND, THIRD, FOURTH] = plain;
const [OTHER_PACKAGE] = minimal;

export const order = () => [...heads(), ...commits(), ...events(), ...cuts(), ...anew()];

const of = (...records) => textOf(records);

const heads = () => [
  bad('order/empty.jsonl', 'an empty file', '', -1),
  bad('order/blank.jsonl', 'blank lines only', '\n \n', -1),
  bad('order/no-package.jsonl', 'no tool package', of(GENESIS, FIRST), -1),
  bad('order/no-genesis.jsonl', 'commits after the tool package', of(PACKAGE, FIRST), -1),
  bad('order/package-only.jsonl', 'a tool package and nothing else', of(PACKAGE), -1),
  bad('order/other-package.jsonl', 'the tool package of another session', of(OTHER_PACKAGE, GENESIS, FIRST), -1),
  bad('order/two-packages.jsonl', 'the same tool package twice', of(PACKAGE, PACKAGE, GENESIS, FIRST), -1),
  bad('order/package-after-genesis.jsonl', 'the tool package after the genesis', of(GENESIS, PACKAGE, FIRST), -1),
  bad('order/package-again.jsonl', 'the tool package again, after a commit', of(PACKAGE, GENESIS, FIRST, PACKAGE), 1),
  bad('order/genesis-again.jsonl', 'the genesis again, after a commit', of(PACKAGE, GENESIS, FIRST, GENESIS), 1),
  bad('order/two-geneses.jsonl', 'the genesis twice', of(PACKAGE, GENESIS, GENESIS), 0),
  bad(
    'order/unknown-record.jsonl',
    'a record of an unknown kind at the end',
    `${of(PACKAGE, GENESIS, FIRST)}{"kind":"note"}\n`,
    1,
  ),
  bad('order/list.jsonl', 'a list in the place of a record', `${of(PACKAGE, GENESIS, FIRST)}[]\n`, 1),
  bad('order/null.jsonl', 'null in the place of a record', `${of(PACKAGE, GENESIS)}null\n`, 0),
];

const commits = () => [
  bad('order/commits-swapped.jsonl', 'two commits swapped', of(PACKAGE, GENESIS, SECOND, FIRST), 0),
  bad('order/commit-missing.jsonl', 'a commit left out', of(PACKAGE, GENESIS, FIRST, THIRD, FOURTH), 1),
  bad('order/commit-repeated.jsonl', 'a commit twice', of(PACKAGE, GENESIS, FIRST, FIRST, SECOND), 1),
  bad(
    'order/commit-missing-renumbered.jsonl',
    'a commit left out, and the positions after it corrected',
    of(PACKAGE, GENESIS, FIRST, { ...THIRD, position: 1 }),
    1,
  ),
  bad(
    'order/commits-merged.jsonl',
    'two commits made one, with state digest and link of the second',
    of(PACKAGE, GENESIS, { ...SECOND, position: 0, events: [...FIRST.events, ...SECOND.events] }),
    [0, 1],
  ),
  bad(
    'order/commit-split.jsonl',
    'a commit made two, with state digest and link of the whole for both',
    of(
      PACKAGE,
      GENESIS,
      FIRST,
      SECOND,
      { ...THIRD, events: THIRD.events.slice(0, 1) },
      { ...THIRD, position: 3, events: THIRD.events.slice(1) },
    ),
    2,
  ),
  bad('order/events-257.jsonl', 'a commit of 257 events, every link computed anew', tooMany(), 0),
];

function tooMany() {
  const [tools, genesis, commit] = many(256);
  const last = commit.events.at(-1);
  const events = [...commit.events, { ...last, event_id: 'e-257', at_ms: last.at_ms + 1_000 }];
  return textOf(chained([tools, genesis, { ...commit, events }]));
}

const events = () => [
  bad('order/events-swapped.jsonl', 'two events of a commit swapped', edited(plain, swapWithin), 2),
  bad('order/events-swapped-between.jsonl', 'two events of two commits swapped', edited(plain, swapBetween), 0),
  bad(
    'order/event-missing.jsonl',
    'an event of a commit left out',
    edited(plain, (records) => void records[4].events.pop()),
    2,
  ),
  bad(
    'order/event-repeated.jsonl',
    'the last event twice',
    edited(single, ({ 2: { events: list } }) => void list.push(list[0])),
    [0, 1],
  ),
  bad('order/event-edited.jsonl', 'an id edited, which no state shows', edited(plain, editId), [4, 6]),
  bad('order/text-edited.jsonl', 'an answer edited', edited(plain, editAnswer), [4, 6]),
];

const swapWithin = ({ 4: { events: list } }) => void list.reverse();
const swapBetween = ({ 2: one, 3: other }) => {
  [one.events, other.events] = [other.events, one.events];
};
const editId = ({ 5: { events: list } }) => void (list[2].event_id = 'e-77');
const editAnswer = ({ 5: { events: list } }) => void (list[2].content.text = 'Nothing is sent.');

const cuts = () => {
  const text = textOf(plain);
  const fork = forkOf('fork', 4);
  return [
    bad('chains/line-cut.jsonl', 'cut inside the last line', text.slice(0, -200), 4),
    bad(
      'chains/line-cut-inside.jsonl',
      'a line cut short, with whole lines after it',
      `${of(PACKAGE, GENESIS, FIRST).slice(0, -200)}\n${of(SECOND)}`,
      0,
    ),
    bad('order/lines-joined.jsonl', 'two records on one line', of(PACKAGE, GENESIS, FIRST).replace('}\n{', '} {'), -1),
    bad(
      'order/record-on-two-lines.jsonl',
      'a record broken over two lines',
      of(PACKAGE, GENESIS, FIRST).replace('"position":0', '"position":\n0'),
      0,
    ),
    bad(
      'chains/fork-cut.jsonl',
      'a fork that has lost events that it shares with its source',
      textOf(fork.slice(0, 4)),
      2,
    ),
    ok(
      'chains/end-cut.jsonl',
      'plain.jsonl without its last commit: only a head or a checkpoint shows it',
      of(PACKAGE, GENESIS, FIRST, SECOND, THIRD),
      {
        heads: [
          { chain: FOURTH.chain, found: false },
          { chain: THIRD.chain, found: true, after: 4 },
        ],
        checkpoints: [
          { file: 'checkpoints/good.json', verdict: 'truncated' },
          { file: 'checkpoints/earlier.json', verdict: 'ok' },
        ],
      },
    ),
  ];
};

const rewritten = {
  heads: [
    { chain: FOURTH.chain, found: false },
    { chain: THIRD.chain, found: true, after: 4 },
  ],
  checkpoints: [
    { file: 'checkpoints/good.json', verdict: 'rewritten' },
    { file: 'checkpoints/earlier.json', verdict: 'ok' },
  ],
};

const anew = () => [
  {
    ...badInFold(
      'chains/answer-linked.jsonl',
      'plain.jsonl with an answer edited and the links after it computed anew: a fold, a head or a checkpoint shows it',
      editedAndChained(plain, editAnswer),
      [4, 6],
    ),
    ...rewritten,
  },
  ok(
    'chains/id-linked.jsonl',
    'plain.jsonl with an id edited, which no state shows, and the links computed anew: only a head or a checkpoint shows it',
    editedAndChained(plain, editId),
    rewritten,
  ),
  badInFold(
    'chains/swapped-linked.jsonl',
    'two events swapped and every link computed anew: only a fold shows it',
    editedAndChained(plain, swapBetween),
    0,
  ),
  badInFold(
    'chains/merged-linked.jsonl',
    'two commits made one with a state digest that is not that after them, linked anew',
    textOf(chained([PACKAGE, GENESIS, { ...FIRST, events: [...FIRST.events, ...SECOND.events] }])),
    [0, 1],
  ),
  ok(
    'chains/merged-right.jsonl',
    'two commits made one and linked anew: a right log, but not the one that was kept',
    textOf(chained([PACKAGE, GENESIS, { ...SECOND, position: 0, events: [...FIRST.events, ...SECOND.events] }])),
    {
      heads: [{ chain: SECOND.chain, found: false }],
      checkpoints: [{ file: 'checkpoints/first-commit.json', verdict: 'rewritten' }],
    },
  ),
];
