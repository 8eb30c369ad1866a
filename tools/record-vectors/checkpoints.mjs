// Checkpoints and proofs over the sessions of the vectors, right and wrong, signed with a key that everybody may know.
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { canonicalText } from '../../dist/schemas/index.js';
import { checkpointHead, proveSession } from '../../dist/src/core/index.js';
import { endOf, minimal, odd, oneByOne, plain, single } from './sessions.mjs';
import { WRONG } from './stream.mjs';

const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyOf = (seed) => {
  const der = Buffer.concat([PKCS8_PREFIX, createHash('sha256').update(seed).digest()]);
  const secret = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const open = createPublicKey(secret);
  const public_key = open.export({ type: 'spki', format: 'der' }).subarray(12).toString('base64');
  return { secret, public_key, pem: open.export({ type: 'spki', format: 'pem' }) };
};
const KEY = keyOf('the test vectors of refold');
const OTHER_KEY = keyOf('another signer');

const leafAt = (records, record = records.at(-1)) => ({
  session_id: records[1].genesis.session_id,
  version: endOf(record),
  chain: record.chain,
});

const AT_MS = 1_767_312_000_000;
const LEAVES = [minimal, odd, oneByOne, plain, single].map((records) => leafAt(records));
const sorted = (leaves) => leaves.toSorted((a, b) => (a.session_id < b.session_id ? -1 : 1));

function signed(head, { secret, public_key } = KEY) {
  return { head, public_key, signature: sign(null, Buffer.from(canonicalText(head)), secret).toString('base64') };
}

const checkpoint = (sessions, head = checkpointHead(sessions, AT_MS), key = KEY) => ({
  kind: 'checkpoint',
  ...signed(head, key),
  sessions,
});

const withStory = (leaf) =>
  sorted([...LEAVES.filter(({ session_id }) => session_id !== 'story'), { ...leafAt(plain), ...leaf }]);

const GOOD = checkpoint(sorted(LEAVES));
const PROOF = proveSession(GOOD, 'story');

/** S + L in place of S: the equation holds, but RFC 8032, section 5.1.7, refuses it. */
function withLargerS({ signature, ...rest }) {
  const bytes = Buffer.from(signature, 'base64');
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  let s = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString('hex')}`) + order;
  for (let index = 32; index < 64; index += 1, s >>= 8n) bytes[index] = Number(s & 0xffn);
  return { ...rest, signature: bytes.toString('base64') };
}

const flipped = (text) => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`);

/** By name: the content, and the verdict on `good/plain.jsonl`. */
const FILES = {
  good: [GOOD, 'ok'],
  'one-session': [checkpoint([leafAt(plain)]), 'ok'],
  earlier: [checkpoint(withStory(leafAt(plain, plain[4]))), 'ok'],
  'first-commit': [checkpoint(withStory(leafAt(plain, plain[3]))), 'ok'],
  'at-genesis': [checkpoint(withStory(leafAt(plain, plain[1]))), 'ok'],
  'other-sessions': [checkpoint(sorted(LEAVES.filter(({ session_id }) => session_id !== 'story'))), 'absent'],
  'no-sessions': [checkpoint([]), 'absent'],
  'inside-commit': [checkpoint(withStory({ version: 3 })), 'rewritten'],
  'other-chain': [checkpoint(withStory({ chain: WRONG })), 'rewritten'],
  'other-genesis': [checkpoint(withStory({ version: 0, chain: WRONG })), 'rewritten'],
  'more-events': [checkpoint(withStory({ version: 8 })), 'truncated'],
  'other-signature': [{ ...GOOD, signature: flipped(GOOD.signature) }, 'invalid'],
  'larger-s': [withLargerS(GOOD), 'invalid'],
  'other-key': [{ ...GOOD, public_key: OTHER_KEY.public_key }, 'invalid'],
  'head-changed': [{ ...GOOD, head: { ...GOOD.head, created_at_ms: AT_MS + 1 } }, 'invalid'],
  'leaf-changed': [{ ...GOOD, sessions: withStory({ version: 4, chain: plain[4].chain }) }, 'invalid'],
  'leaf-missing': [{ ...GOOD, sessions: GOOD.sessions.slice(1) }, 'invalid'],
  'other-root': [checkpoint(GOOD.sessions, { ...GOOD.head, root: WRONG }), 'invalid'],
  'other-size': [checkpoint(GOOD.sessions, { ...GOOD.head, tree_size: 6 }), 'invalid'],
  'out-of-order': [checkpoint(GOOD.sessions.toReversed()), 'invalid'],
  'twice-listed': [checkpoint([leafAt(plain), leafAt(plain)]), 'invalid'],
  'further-field': [{ ...GOOD, note: 'x' }, 'unreadable'],
  'further-head-field': [checkpoint(GOOD.sessions, { ...GOOD.head, note: 'x' }), 'unreadable'],
  'other-purpose': [checkpoint(GOOD.sessions, { ...GOOD.head, purpose: 'refold/checkpoint/2' }), 'unreadable'],
  'no-signature': [(({ signature: _signature, ...rest }) => rest)(GOOD), 'unreadable'],
  'signature-unpadded': [{ ...GOOD, signature: GOOD.signature.replace(/=+$/, '') }, 'unreadable'],
  'key-unpadded': [{ ...GOOD, public_key: GOOD.public_key.replace(/=+$/, '') }, 'unreadable'],
  'version-text': [checkpoint(withStory({ version: '7' })), 'unreadable'],
  proof: [PROOF, 'ok'],
  'proof-of-one': [proveSession(checkpoint([leafAt(plain)]), 'story'), 'ok'],
  'proof-of-another': [proveSession(GOOD, 'minimal'), 'absent'],
  'proof-of-last': [proveSession(checkpoint(sorted([leafAt(minimal), leafAt(odd), leafAt(plain)])), 'story'), 'ok'],
  'proof-path-changed': [{ ...PROOF, path: [WRONG, ...PROOF.path.slice(1)] }, 'invalid'],
  'proof-path-short': [{ ...PROOF, path: PROOF.path.slice(1) }, 'invalid'],
  'proof-path-long': [{ ...PROOF, path: [...PROOF.path, WRONG] }, 'invalid'],
  'proof-other-place': [{ ...PROOF, index: PROOF.index - 1 }, 'invalid'],
  'proof-place-outside': [{ ...PROOF, index: GOOD.head.tree_size }, 'invalid'],
  'proof-leaf-changed': [{ ...PROOF, session: { ...PROOF.session, version: 4, chain: plain[4].chain } }, 'invalid'],
  'proof-of-node': [{ ...PROOF, path: PROOF.path.map(() => 'abc') }, 'unreadable'],
};

const TEXTS = {
  'signer.pub': KEY.pem,
  'another.pub': OTHER_KEY.pem,
  'not-a-key.pub': 'not a key\n',
  'spaced.json': `\n${JSON.stringify(GOOD, null, 2)}\n`,
  'key-twice.json': canonicalText(GOOD).replace('"kind":', '"kind":"checkpoint","kind":'),
  'not-json.json': canonicalText(GOOD).slice(0, -1),
};

/** Every file below checkpoints/. Proofs have a folder of their own. */
export const checkpointFiles = () => [
  ...Object.entries(FILES).map(([name, [content]]) => [pathOf(name), `${canonicalText(content)}\n`]),
  ...Object.entries(TEXTS).map(([name, content]) => [`checkpoints/${name}`, content]),
];

const pathOf = (name) => (name.startsWith('proof') ? `checkpoints/proofs/${name}.json` : `checkpoints/${name}.json`);

/** What each of them says of `good/plain.jsonl`. */
export const checkpointsOfPlain = () => [
  ...Object.entries(FILES).map(([name, [, verdict]]) => ({ file: pathOf(name), verdict })),
  { file: 'checkpoints/spaced.json', verdict: 'ok' },
  { file: 'checkpoints/key-twice.json', verdict: 'unreadable' },
  { file: 'checkpoints/not-json.json', verdict: 'unreadable' },
  { file: 'checkpoints/good.json', public_key: 'checkpoints/signer.pub', verdict: 'ok' },
  { file: 'checkpoints/good.json', public_key: 'checkpoints/another.pub', verdict: 'invalid' },
  { file: 'checkpoints/good.json', public_key: 'checkpoints/not-a-key.pub', verdict: 'unreadable' },
  { file: pathOf('proof'), public_key: 'checkpoints/signer.pub', verdict: 'ok' },
];

/** The heads that good/plain.jsonl has, and one that it has not. */
export const headsOfPlain = () => [
  ...plain.slice(1).map((record) => ({ chain: record.chain, found: true, after: endOf(record) })),
  { chain: WRONG, found: false },
];
