// The computation of every runtime: each session is folded from its lines, and nothing is copied from the record. Pure, so
// one bundle runs everywhere.
import { digestText } from '../../schemas/canonical.ts';
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
 * first differs from its record, or null. `rolling` chains all these digests. Throws, naming session and position.
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
  for (const [index, line] of lines.entries()) {
    const position = index - 1;
    try {
      const { recorded, digests, state } = fold(JSON.parse(line));
      bytes.push(digestText(stateBytes(state)));
      const what = Object.keys(digests).find((field) => recorded[field] !== digests[field]);
      if (what !== undefined) differs ??= { position, what };
      if (index === lines.length - 1) return { state: digests.state_digest, chain: digests.chain, bytes, differs };
    } catch (error) {
      throw new Error(`${name}, position ${position}: ${error.message}`, { cause: error });
    }
  }
  throw new Error(`${name} is empty`);
}

/** Takes the records of one session in order, and returns the digests that each must have. */
function newFold() {
  let state;
  let chain;
  return (recorded) => {
    if (recorded.kind === 'genesis') {
      state = initialState(recorded.genesis);
      chain = genesisChain(recorded.genesis);
      return { recorded, state, digests: { state_digest: stateDigest(state), chain } };
    }
    const stepped = step(state, recorded.event);
    if (stepped._tag === 'Left') throw new Error(`refused as ${stepped.left.code}`);
    const event_digest = eventDigest(recorded.event);
    const state_digest = stepped.right.stateDigest;
    ({ state } = stepped.right);
    chain = nextChain(chain, event_digest, state_digest);
    return { recorded, state, digests: { event_digest, state_digest, chain } };
  };
}
