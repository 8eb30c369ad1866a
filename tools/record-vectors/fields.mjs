// Every field of every record: changed, missing, of a wrong type; and fields that no record has.
import { edited, editedAndChained, WRONG } from './stream.mjs';
import { forkOf, plain, single } from './sessions.mjs';
import { bad, badInFold } from './vector.mjs';

const name = (of, ...parts) => `${of}/${parts.join('-').replaceAll('_', '-')}.jsonl`;

export const fields = () => [
  ...packageFields(),
  ...genesisRecordFields(),
  ...genesisFields(),
  ...forkFields(),
  ...commitFields(),
  ...eventFields(),
];

/** A field missing, then with each value; `change` finds the object that has it. */
const vary = ({ of, about, find, edit, commit }, values) =>
  Object.entries(values).flatMap(([field, given]) => [
    bad(
      name(of, field, 'missing'),
      `${about} without ${field}`,
      edit((records) => void delete find(records)[field]),
      commit,
    ),
    ...Object.entries(given).map(([what, value]) =>
      bad(
        name(of, field, what),
        `${about} whose ${field} is ${JSON.stringify(value)}`,
        edit((records) => void (find(records)[field] = value)),
        commit,
      ),
    ),
  ]);

const further = ({ of, about, find, edit, commit }) =>
  bad(
    name(of, 'further-field'),
    `${about} with a further field`,
    edit((records) => void (find(records).note = 'x')),
    commit,
  );

const plainly = (edit) => edited(single, edit);
const linkedAnew = (edit) => editedAndChained(single, edit);
const LINKED = 'every link computed anew:';

const packageFields = () => {
  const find = ([record]) => record;
  const values = {
    digest: { other: WRONG, number: 1 },
    tool_package: { null: null, changed: { profiles: [], provider_profiles: [], registry: [] } },
  };
  return [
    ...vary({ of: 'package', about: 'a package record', find, edit: plainly, commit: -1 }, values),
    further({ of: 'package', about: 'a package record', find, edit: plainly, commit: -1 }),
  ];
};

const genesisRecordFields = () => {
  const find = ([, record]) => record;
  const values = {
    format: { text: '2', later: 3, first: 1 },
    genesis: { list: [], null: null },
    state_digest: { other: WRONG, upper: `sha256:${'A'.repeat(64)}`, list: [] },
    chain: { other: WRONG, short: 'sha256:00', null: null },
  };
  return [
    ...vary({ of: 'genesis-record', about: 'a genesis record', find, edit: plainly, commit: -1 }, values),
    further({ of: 'genesis-record', about: 'a genesis record', find, edit: plainly, commit: -1 }),
    badInFold(
      name('genesis-record', 'state_digest', 'linked'),
      `${LINKED} a genesis record with another state digest, which only a fold finds`,
      linkedAnew((records) => void (records[1].state_digest = WRONG)),
      -1,
    ),
  ];
};

const genesisFields = () => {
  const find = ([, { genesis }]) => genesis;
  const values = {
    v: { later: 2, text: '1' },
    session_id: { slash: 'a/b', long: 'a'.repeat(65), empty: '', 'line-feed': 'single\n' },
    created_at_ms: { negative: -1, fraction: 1.5, late: 8_640_000_000_000_001 },
    tool_package_digest: { other: WRONG },
    config: { null: null },
    consent: { list: [] },
    rules: { zero: 0, fraction: 1.5, large: 2 ** 53 },
    since: { word: 'soon', short: '0.2', long: `1.2.${'3'.repeat(29)}`, 'other-digits': '\u0660.\u0662.\u0660' },
    forked_from: { null: null },
  };
  const varied = vary({ of: 'genesis', about: `${LINKED} a genesis`, find, edit: linkedAnew, commit: -1 }, values);
  return [
    // The genesis of a session that is no fork has no `forked_from`.
    ...varied.filter(({ file }) => file !== name('genesis', 'forked_from', 'missing')),
    further({ of: 'genesis', about: `${LINKED} a genesis`, find, edit: linkedAnew, commit: -1 }),
    bad(name('genesis', 'changed'), 'a genesis that was created at another time', plainly(later), -1),
    badInFold(
      name('genesis', 'changed', 'linked'),
      `${LINKED} a genesis that was created at another time`,
      linkedAnew(later),
      -1,
    ),
    badInFold(
      name('genesis', 'rules', 'unknown'),
      `${LINKED} rules that no release has`,
      linkedAnew(({ 1: { genesis } }) => void (genesis.rules = 9_999)),
      -1,
    ),
    badInFold(
      name('genesis', 'config', 'empty'),
      `${LINKED} a config without fields`,
      linkedAnew(({ 1: { genesis } }) => void (genesis.config = {})),
      -1,
    ),
  ];
};

const later = ([, { genesis }]) => void (genesis.created_at_ms += 1);

const forkFields = () => {
  const fork = forkOf('fork', 4).slice(0, 5);
  const values = {
    session_id: { empty: '' },
    position: { negative: -1, text: '4', fraction: 3.5 },
    chain: { word: 'abc' },
  };
  const anew = (edit) => editedAndChained(fork.slice(0, 2), edit);
  const find = ([, { genesis }]) => genesis.forked_from;
  return [
    ...vary({ of: 'forked-from', about: `${LINKED} a forked_from`, find, edit: anew, commit: -1 }, values),
    further({ of: 'forked-from', about: `${LINKED} a forked_from`, find, edit: anew, commit: -1 }),
    bad(
      name('forked-from', 'chain', 'other'),
      'a fork that names another chain value',
      edited(fork.slice(0, 2), (records) => void (find(records).chain = WRONG)),
      -1,
    ),
  ];
};

const MALFORMED = { upper: `sha256:${'A'.repeat(64)}`, 'line-feed': `sha256:${'0'.repeat(64)}\n` };

const commitFields = () => {
  const find = ([, , record]) => record;
  const values = {
    kind: { event: 'event', null: null },
    position: { one: 1, text: '0', true: true, null: null, fraction: 0.5, negative: -1 },
    events: { none: [], null: null, object: {} },
    state_digest: { null: null },
    chain: { number: 0 },
  };
  return [
    ...vary({ of: 'commit', about: 'a commit', find, edit: plainly, commit: 0 }, values),
    further({ of: 'commit', about: 'a commit', find, edit: plainly, commit: 0 }),
    bad(
      name('commit', 'state_digest', 'other'),
      'a commit with another state digest',
      plainly((records) => void (find(records).state_digest = WRONG)),
      0,
    ),
    bad(
      name('commit', 'chain', 'other'),
      'a commit with another chain value',
      plainly((records) => void (find(records).chain = WRONG)),
      0,
    ),
    ...['upper', 'line-feed'].map((what) =>
      bad(
        name('commit', 'state_digest', what, 'linked'),
        `${LINKED} a commit whose state digest has ${what === 'upper' ? 'upper-case digits' : 'a line feed at its end'}`,
        linkedAnew((records) => void (find(records).state_digest = MALFORMED[what])),
        0,
      ),
    ),
    bad(
      name('commit', 'events', 'none', 'linked'),
      `${LINKED} a commit without events, with the state digest before it`,
      linkedAnew((records) => void Object.assign(find(records), { events: [], state_digest: records[1].state_digest })),
      0,
    ),
    bad(
      name('commit', 'position', 'true', 'second'),
      'a second commit whose position is true, which some languages take for 1',
      edited(plain.slice(0, 4), ({ 3: second }) => void (second.position = true)),
      1,
    ),
    badInFold(
      name('commit', 'state_digest', 'linked'),
      `${LINKED} a commit with another state digest, which only a fold finds`,
      linkedAnew((records) => void (find(records).state_digest = WRONG)),
      0,
    ),
  ];
};

const eventFields = () => {
  const find = ([, , { events }]) => events[0];
  const about = `${LINKED} an event`;
  const values = {
    v: { zero: 0, text: '1' },
    event_id: { space: 'e 1', empty: '', long: 'e'.repeat(129), proto: '__proto__', 'line-feed': 'e-1\n' },
    at_ms: { fraction: 0.5, negative: -1, text: '0' },
    kind: { null: null },
  };
  return [
    ...vary({ of: 'event', about: about, find, edit: linkedAnew, commit: 0 }, values),
    bad(
      name('event', 'list'),
      `${LINKED} a list in the place of an event`,
      linkedAnew(({ 2: { events } }) => void (events[0] = [])),
      0,
    ),
    badInFold(
      name('event', 'kind', 'unknown'),
      `${LINKED} a kind of event that no release has`,
      linkedAnew((records) => void (find(records).kind = 'Unheard')),
      0,
    ),
    badInFold(
      name('event', 'further-field'),
      `${about} with a field that its kind does not have`,
      linkedAnew((records) => void (find(records).note = 'x')),
      0,
    ),
    badInFold(
      name('event', 'config', 'missing'),
      `${about} without a field of its kind`,
      linkedAnew((records) => void delete find(records).config),
      0,
    ),
  ];
};
