// What a checkpoint says and whether streams still agree with it. Pure: signing is in `src/audit/`, reading and writing
// in the command line. A checkpoint that was kept shows what no log can show of itself: that it was cut off, chained
// anew, or that a whole session is gone.
import type { Checkpoint, CheckpointHead, CheckpointLeaf, CheckpointProof } from '../../schemas/checkpoint.ts';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { invariant } from '../../schemas/rejection.ts';
import { leafDigest, merklePath, merkleRoot, rootFromPath } from './merkle.ts';
import { newReplayer } from './replay.ts';

const CHECKPOINT_PURPOSE = 'refold/checkpoint/1';

/** Leaves in the order of the tree: by session id, in byte order. */
export const sortLeaves = (leaves: readonly CheckpointLeaf[]): readonly CheckpointLeaf[] =>
  leaves.toSorted((a, b) => (a.session_id < b.session_id ? -1 : a.session_id > b.session_id ? 1 : 0));

/** The head over sorted leaves, ready to be signed. */
export const checkpointHead = (sessions: readonly CheckpointLeaf[], created_at_ms: number): CheckpointHead => ({
  purpose: CHECKPOINT_PURPOSE,
  created_at_ms,
  tree_size: sessions.length,
  root: merkleRoot(sessions.map((leaf) => leafDigest(leaf))),
});

/** Why the leaves are not those of the head; null when they are. The signature is checked apart from this. */
export function findTreeFault(file: Checkpoint | CheckpointProof): string | null {
  const { head } = file;
  if (file.kind === 'checkpoint_proof') {
    const root = rootFromPath(leafDigest(file.session), { index: file.index, size: head.tree_size }, file.path);
    return root === head.root ? null : `the proof does not lead from ${file.session.session_id} to the signed root`;
  }
  const { sessions } = file;
  if (sessions.length !== head.tree_size) return `it lists ${sessions.length} sessions, the head ${head.tree_size}`;
  const unsorted = sessions.findIndex(({ session_id }, index) => {
    const before = sessions[index - 1];
    return before !== undefined && before.session_id >= session_id;
  });
  if (unsorted !== -1) return `session ${sessions[unsorted]?.session_id} is listed twice or out of order`;
  const { root } = checkpointHead(sessions, head.created_at_ms);
  return root === head.root ? null : 'its list of sessions is not the one whose root was signed';
}

/** The proof that a checkpoint holds a session; null when it does not. */
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

/** Watches one stream go by, and says in the end whether it is still the one of the leaf. */
export interface CheckpointWatch {
  /** Records that were verified, in order. */
  add(record: StreamRecord): void;
  /** Null when the stream is as it was, or has grown since. */
  finish(): CheckpointFault | null;
}

export function newCheckpointWatch({ session_id, version, chain }: CheckpointLeaf): CheckpointWatch {
  let events = -1;
  let id: SessionId | null = null;
  let found: Digest | null = null;
  const tell = (position: number, what: CheckpointFault['what'], message: string): CheckpointFault => ({
    session_id,
    position,
    what,
    message,
  });
  return {
    add(record) {
      if (record.kind === 'genesis') id = record.genesis.session_id;
      events += 1;
      if (events === version) found = record.chain;
    },
    finish() {
      if (id === null) return tell(-1, 'deleted', `the checkpoint holds it with ${version} events, and it is gone`);
      if (id !== session_id) return tell(-1, 'swapped', `under this id there is the stream of session ${id}`);
      if (found === null) {
        return tell(events, 'truncated', `the checkpoint holds ${version} events, and ${events} are left`);
      }
      if (found === chain) return null;
      const where = version === 0 ? 'the genesis record' : `one of the first ${version} events or the genesis record`;
      return tell(
        version - 1,
        'rewritten',
        `${where} was rewritten and chained anew: ${chain} was signed, ${found} is here`,
      );
    },
  };
}

/** Every stream of a log by its session id, as it is stored now. */
export type Streams = ReadonlyMap<SessionId, Iterable<StreamRecord>>;

/** Folds every stream of a checkpoint and gives the first fault of each: none when the log only grew. */
export function compareWithCheckpoint(leaves: readonly CheckpointLeaf[], streams: Streams): readonly CheckpointFault[] {
  return leaves.flatMap((leaf) => compareStream(leaf, streams.get(leaf.session_id) ?? []) ?? []);
}

function compareStream(leaf: CheckpointLeaf, records: Iterable<StreamRecord>): CheckpointFault | null {
  const watch = newCheckpointWatch(leaf);
  const replayer = newReplayer();
  let position = -1;
  for (const record of records) {
    if (!addSafely(replayer, record)) {
      const { divergence } = replayer.result();
      const message = divergence?.message ?? 'the event cannot be folded';
      return { session_id: leaf.session_id, what: 'altered', position: divergence?.position ?? position, message };
    }
    watch.add(record);
    position += 1;
  }
  return watch.finish();
}

// A record that was tampered with may be one that no admission ever saw; whatever the fold makes of it, it is data.
function addSafely(replayer: ReturnType<typeof newReplayer>, record: StreamRecord): boolean {
  try {
    return replayer.add(record);
  } catch {
    return false;
  }
}

/** The leaf of a stream that was folded to its end. */
export function leafOf(records: Iterable<StreamRecord>): CheckpointLeaf {
  const replayer = newReplayer();
  for (const record of records) if (!replayer.add(record)) break;
  const { state, chain, divergence } = replayer.result();
  invariant(state !== null && chain !== null && divergence === null, 'a leaf is made of a stream that verifies');
  return { session_id: state.session_id, version: state.version, chain };
}
