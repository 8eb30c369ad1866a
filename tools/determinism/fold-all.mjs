// The computation of every runtime: each session is folded from its lines, and nothing is copied from the record. Pure, so
// one bundle runs everywhere.
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import {
  eventDigest,
  genesisChain,
  initialState,
  nextChain,
  stateBytes,
  stateDigest,
  step,
} from '../../src/core/index.ts';

/**
 * Folds sessions given as `{ name, lines }`. Each answers with its last state digest and chain value, `bytes`, one
 * digest for each position (-1, the genesis record, first) of the flat bytes of the state there, and where and how it
 * first differs from its record, or null: the last position of a commit, because only there are digests recorded.
 * `rolling` chains all these digests. Throws, naming session and position.
 */
export function foldAll(sessions) {
  let rolling = '';
  const folded = sessions.map((session) => {
    const answer = foldOne(session);
    for (const bytes of answer.bytes) rolling = digestText(rolling + bytes);
    return { name: session.name, ...answer };
  });
  const over = (part) => digestText(folded.map((session) => session[part]).join('\n'));
  return { state: over('state'), chain: over('chain'), rolling, sessions: folded };
}

function foldOne({ name, lines }) {
  const fold = newFold();
  const bytes = [];
  let differs = null;
  let last = null;
  for (const line of lines) {
    try {
      for (const { state, recorded } of fold(JSON.parse(line))) {
        bytes.push(digestText(stateBytes(state)));
        if (recorded === undefined) continue;
        last = recorded.digests;
        const what = Object.keys(last).find((field) => recorded.record[field] !== last[field]);
        if (what !== undefined) differs ??= { position: bytes.length - 2, what };
      }
    } catch (error) {
      throw new Error(`${name}, position ${bytes.length - 1}: ${error.message}`, { cause: error });
    }
  }
  if (last === null) throw new Error(`${name} is empty`);
  return { state: last.state_digest, chain: last.chain, bytes, differs };
}

/**
 * Takes the records of one session in order. Yields the state after the genesis record and after each event; with the last
 * one of a record, the record and the digests that it must have.
 */
function newFold() {
  const packages = new Map();
  let state;
  let chain;
  return function* fold(record) {
    if (record.kind === 'package') {
      packages.set(digestText(canonicalText(record.tool_package)), record.tool_package);
      return;
    }
    if (record.kind === 'genesis') {
      state = initialState(record.genesis, packages.get(record.genesis.tool_package_digest));
      chain = genesisChain(state);
      yield { state, recorded: { record, digests: { state_digest: stateDigest(state), chain } } };
      return;
    }
    const digests = [];
    for (const [index, event] of record.events.entries()) {
      const stepped = step(state, event);
      if (stepped._tag === 'Left') throw new Error(`refused as ${stepped.left.code}`);
      ({ state } = stepped.right);
      digests.push(eventDigest(event));
      if (index < record.events.length - 1) yield { state };
    }
    const state_digest = stateDigest(state);
    chain = nextChain(chain, digests, state_digest);
    yield { state, recorded: { record, digests: { state_digest, chain } } };
  };
}
