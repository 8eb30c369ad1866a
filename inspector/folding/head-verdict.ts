// Whether a stream has the head that the reader kept: a chain value, or a checkpoint or proof that somebody signed. A stream
// alone cannot show that its end was cut off, or that all of it was written anew.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { type CheckpointLeaf, CheckpointFile } from '../../schemas/checkpoint.ts';
import { Digest } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { AUDIT_FILE_BYTES_MAX } from '../../schemas/limits.ts';
import { type CommitRecord, versionAfter } from '../../schemas/record.ts';
import { newCheckpointWatch } from '../../src/core/index.ts';
import type { HeadGiven, HeadGivenKind, Verdicts } from '../protocol.ts';
import { Refused, refusalOf } from './refused.ts';
import { findSignatureFault } from './signature.ts';
import type { StreamFold } from './stream-fold.ts';

export interface HeadFound {
  readonly given: HeadGivenKind;
  /** Null while the stream has not been read so far. */
  readonly fault: HeadFault | null;
  readonly isCompared: boolean;
  /** What the head says, when the stream agrees with it. */
  readonly line: string;
}

interface HeadFault {
  readonly position: number;
  readonly what: string;
  readonly message: string;
}

/** A head as it was read, before the stream is compared with it. */
export interface HeadRead {
  readonly given: HeadGivenKind;
  /** The chain value after so many events; null for a checkpoint that does not have the session. */
  readonly leaf: Pick<CheckpointLeaf, 'version' | 'chain'> | null;
  readonly fault: HeadFault | null;
}

export async function readHead(fold: StreamFold, head: HeadGiven): Promise<HeadRead> {
  await fold.settled();
  if (head.kind === 'chain') return readChain(fold, head);
  const parsed = parseJson(head.text.trimEnd(), AUDIT_FILE_BYTES_MAX);
  if (isLeft(parsed)) throw new Refused(refusalOf(parsed.left));
  const file = decode(CheckpointFile, parsed.right);
  if (isLeft(file)) throw new Refused(refusalOf(file.left));
  const signed = file.right;
  const fault = await findSignatureFault(signed, head.public_key);
  if (fault !== null && fault.code === 'key_invalid') throw new Refused(refusalOf(fault));
  const id = fold.genesis()?.session_id;
  const leaves = signed.kind === 'checkpoint' ? signed.sessions : [signed.session];
  const leaf = leaves.find(({ session_id }) => session_id === id) ?? null;
  const given: HeadGivenKind = {
    kind: 'checkpoint',
    trusted: head.public_key !== undefined,
    version: leaf?.version ?? null,
    signed_at_ms: signed.head.created_at_ms,
  };
  return { given, leaf, fault: fault === null ? null : { position: -1, what: 'checkpoint', message: fault.message } };
}

function readChain(fold: StreamFold, { chain, version }: Extract<HeadGiven, { kind: 'chain' }>): HeadRead {
  const digest = decode(Digest, chain.trim());
  if (isLeft(digest)) throw new Refused(refusalOf(digest.left));
  const at = (version ?? fold.progress().read) as CheckpointLeaf['version'];
  const given = { kind: 'chain', trusted: true, version: at, signed_at_ms: null } as const;
  return { given, leaf: { version: at, chain: digest.right }, fault: null };
}

/** Compares the stream, all of which was read, with a head. */
export async function compareHead(fold: StreamFold, { given, leaf, fault }: HeadRead): Promise<HeadFound> {
  const by =
    given.kind === 'chain' ? 'the chain value' : `the checkpoint${given.trusted ? '' : ', whose key is its own,'}`;
  if (fault !== null) return { given, fault, isCompared: true, line: '' };
  if (leaf === null) {
    const message = 'the checkpoint does not contain this session; it is older';
    return { given, fault: null, isCompared: false, line: message };
  }
  const found = await contradiction(fold, leaf);
  const since = fold.progress().read - leaf.version;
  const line = `it agrees with ${by} that you gave for ${leaf.version} events; ${since} more came since`;
  return { given, fault: found, isCompared: true, line };
}

async function contradiction(
  fold: StreamFold,
  leaf: Pick<CheckpointLeaf, 'version' | 'chain'>,
): Promise<HeadFault | null> {
  const genesis = fold.genesis();
  if (genesis === null) return { position: -1, what: 'deleted', message: 'the stream has no genesis record' };
  const watch = newCheckpointWatch({ ...leaf, session_id: genesis.session_id });
  // The watch needs the records that end at the version of the leaf, and the last one.
  const start = fold.kept.before(0);
  if (start !== undefined)
    watch.add({ kind: 'genesis', format: 2, genesis, state_digest: start.chain, chain: start.chain });
  const at = leaf.version > 0 ? await commitWith(fold, leaf.version - 1) : null;
  const last = fold.last();
  if (at !== null && versionAfter(at) === leaf.version) watch.add(at);
  if (last !== null && last !== at) watch.add(last);
  return watch.finish();
}

async function commitWith(fold: StreamFold, position: number): Promise<CommitRecord | null> {
  if (position >= fold.progress().read) return null;
  for await (const commits of fold.source.commitsFrom(position)) {
    for (const commit of commits) if (versionAfter(commit) > position) return commit;
  }
  return null;
}

/** Its sentence, whatever was given. */
export function headVerdict(fold: StreamFold, head: HeadFound | null): Verdicts['head'] {
  const { read, total } = fold.progress();
  const counts = { checked: head?.given.version ?? 0, total: total ?? read };
  if (head === null) {
    const line = 'nothing was given to compare with: its writer could have written all of it';
    return { state: 'none', ...counts, line, fault: null, given: null };
  }
  const { given, fault, line, isCompared } = head;
  if (fault !== null) {
    const { position, what, message } = fault;
    const shown = { position, what, message, recorded: null, replayed: null };
    return { state: 'bad', ...counts, line: message, fault: shown, given };
  }
  // A stream whose chain values are wrong has no head that says anything of its events.
  const { events, fault: broken } = fold.chain();
  if (broken !== null && events < counts.checked) {
    const message = 'the chain is bad before it, so it says nothing of these events';
    return { state: 'cannot', ...counts, line: message, fault: null, given };
  }
  return { state: isCompared ? 'good' : 'cannot', ...counts, line, fault: null, given };
}
