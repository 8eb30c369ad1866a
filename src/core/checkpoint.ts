// The content of a checkpoint, and whether streams still agree with it. Pure: signing is in `src/audit/`, reading and
// writing files in the command line. A checkpoint that a third party kept shows what a log alone cannot: that it was
// truncated or rewritten with a new chain, or that a whole session was deleted.
import type { Checkpoint, CheckpointHead, CheckpointLeaf, CheckpointProof } from '../../schemas/checkpoint.ts';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { type StreamRecord, versionAfter } from '../../schemas/record.ts';
import { type Rejection, invariant, reject } from '../../schemas/rejection.ts';
import { leafDigest, merklePath, merkleRoot, rootFromPath } from './merkle.ts';
import { newReplayer } from './replay.ts';

const CHECKPOINT_PURPOSE = 'refold/checkpoint/1';

/** The leaves in the order of the tree: by session id, in byte order. */
export const sortLeaves = (leaves: readonly CheckpointLeaf[]): readonly CheckpointLeaf[] =>
  leaves.toSorted((a, b) => (a.session_id < b.session_id ? -1 : a.session_id > b.session_id ? 1 : 0));

/** The unsigned head over sorted leaves. */
export const checkpointHead = (sessions: readonly CheckpointLeaf[], created_at_ms: number): CheckpointHead => ({
  purpose: CHECKPOINT_PURPOSE,
  created_at_ms,
  tree_size: sessions.length,
  root: merkleRoot(sessions.map((leaf) => leafDigest(leaf))),
});

/** Why the leaves are not those of the head; null when they are. Does not check the signature. */
export function findTreeFault(file: Checkpoint | CheckpointProof): string | null {
  const { head } = file;
  if (file.kind === 'checkpoint_proof') {
    const root = rootFromPath(leafDigest(file.session), { index: file.index, size: head.tree_size }, file.path);
    return root === head.root ? null : `the path from ${file.session.session_id} does not lead to the signed root`;
  }
  const { sessions } = file;
  if (sessions.length !== head.tree_size) return `it lists ${sessions.length} sessions, its head ${head.tree_size}`;
  const unsorted = sessions.findIndex(({ session_id }, index) => {
    const before = sessions[index - 1];
    return before !== undefined && before.session_id >= session_id;
  });
  if (unsorted !== -1) return `session ${sessions[unsorted]?.session_id} is listed twice or out of order`;
  const { root } = checkpointHead(sessions, head.created_at_ms);
  return root === head.root ? null : 'the root of its sessions is not the signed root';
}

/** What the platform's cryptography found out about a signed file. */
export interface SignatureChecked {
  /** The key that the reader trusts, as in the file; null when the key in the file is taken. */
  readonly trusted: string | null;
  /** The signature is that of the head by the key in the file. */
  readonly isSigned: boolean;
}

/** What is wrong with a signed file; null when its key, signature and tree are right. */
export function findSignedFault(
  file: Checkpoint | CheckpointProof,
  { trusted, isSigned }: SignatureChecked,
): Rejection | null {
  const wrong = (message: string): Rejection => reject('checkpoint_invalid', '', message);
  if (trusted !== null && trusted !== file.public_key)
    return wrong('it was signed with another key than the given one');
  if (!isSigned) return wrong('the signature does not match this head and this key');
  const fault = findTreeFault(file);
  return fault === null ? null : wrong(fault);
}

/** The bytes before the 32 key bytes of an Ed25519 SubjectPublicKeyInfo (RFC 8410, section 4), in hexadecimal digits. */
export const SPKI_PREFIX_HEX = '302a300506032b6570032100';

/** Why a text is no public key that a checkpoint can be checked with. */
export const NO_PUBLIC_KEY: Rejection = reject(
  'key_invalid',
  '',
  'the key file does not hold a public Ed25519 key in PEM',
);

/** The proof that a checkpoint contains a session; null when it does not. */
export function proveSession(checkpoint: Checkpoint, id: SessionId): CheckpointProof | null {
  const { head, public_key, signature, sessions } = checkpoint;
  const index = sessions.findIndex(({ session_id }) => session_id === id);
  const session = sessions[index];
  if (session === undefined) return null;
  const leaves = sessions.map((leaf) => leafDigest(leaf));
  return { kind: 'checkpoint_proof', head, public_key, signature, session, index, path: merklePath(leaves, index) };
}

/** How a stream contradicts a checkpoint. Position -1 is the genesis record. */
export interface CheckpointFault {
  readonly session_id: SessionId;
  readonly position: number;
  readonly what: 'deleted' | 'truncated' | 'rewritten' | 'swapped' | 'altered';
  readonly message: string;
}

/** Compares one stream with its leaf, record by record. */
export interface CheckpointWatch {
  /** Takes the verified records in order. */
  add(record: StreamRecord): void;
  /** Null when the stream is unchanged or has only grown. */
  finish(): CheckpointFault | null;
}

export function newCheckpointWatch({ session_id, version, chain }: CheckpointLeaf): CheckpointWatch {
  let events = -1;
  let id: SessionId | null = null;
  let found: Digest | null = null;
  const fault = (position: number, what: CheckpointFault['what'], message: string): CheckpointFault => ({
    session_id,
    position,
    what,
    message,
  });
  return {
    add(record) {
      if (record.kind === 'package') return;
      if (record.kind === 'genesis') id = record.genesis.session_id;
      events = record.kind === 'genesis' ? 0 : versionAfter(record);
      if (events === version) found = record.chain;
    },
    finish() {
      if (id === null)
        return fault(-1, 'deleted', `the checkpoint holds it with ${version} events, but the log does not hold it`);
      if (id !== session_id) return fault(-1, 'swapped', `the stream under this id is that of session ${id}`);
      if (events < version) {
        return fault(events, 'truncated', `the checkpoint holds ${version} events, and ${events} are left`);
      }
      if (found === null) {
        const message = `the checkpoint was made after ${version} events, and no commit ends there now`;
        return fault(version - 1, 'rewritten', message);
      }
      if (found === chain) return null;
      const where = version === 0 ? 'the genesis record' : `one of the first ${version} events or the genesis record`;
      return fault(
        version - 1,
        'rewritten',
        `${where} was rewritten: the signed chain value is ${chain}, the stream has ${found}`,
      );
    },
  };
}

/** Every stream that a log holds now, by session id. */
export type Streams = ReadonlyMap<SessionId, Iterable<StreamRecord>>;

/** Folds every stream of a checkpoint and returns the first fault of each; none when the log only grew. */
export function compareWithCheckpoint(leaves: readonly CheckpointLeaf[], streams: Streams): readonly CheckpointFault[] {
  return leaves.flatMap((leaf) => compareStream(leaf, streams.get(leaf.session_id) ?? []) ?? []);
}

function compareStream(leaf: CheckpointLeaf, records: Iterable<StreamRecord>): CheckpointFault | null {
  const watch = newCheckpointWatch(leaf);
  const replayer = newReplayer();
  for (const record of records) {
    if (!addSafely(replayer, record)) {
      const { divergence, events } = replayer.result();
      const message = divergence?.message ?? 'the event cannot be folded';
      return { session_id: leaf.session_id, what: 'altered', position: divergence?.position ?? events, message };
    }
    watch.add(record);
  }
  return watch.finish();
}

// A tampered record may be one that admission never accepted, so the fold may throw; that is a fault of the data.
function addSafely(replayer: ReturnType<typeof newReplayer>, record: StreamRecord): boolean {
  try {
    return replayer.add(record);
  } catch {
    return false;
  }
}

/** The leaf of a whole stream, which must verify. */
export function leafOf(records: Iterable<StreamRecord>): CheckpointLeaf {
  const replayer = newReplayer();
  for (const record of records) if (!replayer.add(record)) break;
  const { state, chain, divergence } = replayer.result();
  invariant(state !== null && chain !== null && divergence === null, 'a leaf is made of a stream that verifies');
  return { session_id: state.session_id, version: state.version, chain };
}
