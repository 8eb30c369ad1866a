// Compares streams with a checkpoint that was kept, for `refold verify --checkpoint`.
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { paint } from '../../shown/paint.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { CheckpointFile, type CheckpointLeaf } from '../../../schemas/checkpoint.ts';
import { decode } from '../../../schemas/codec.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { AUDIT_FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { REJECTIONS } from '../../../schemas/rejection.ts';
import { findCheckpointFault } from '../../audit/signature.ts';
import { type CheckpointFault, newCheckpointWatch } from '../../core/checkpoint.ts';
import { readText } from '../files.ts';
import { CommandFailure, type Output } from '../output.ts';
import type { Source } from './source.ts';

/** Compares one source with the checkpoint. */
export interface SourceCheck {
  add(record: StreamRecord): void;
  finish(): CheckpointFault | null;
  /** What was signed for it; null when the checkpoint does not contain it. */
  leaf(): CheckpointLeaf | null;
}

export interface CheckpointCheck {
  readonly sessions: readonly SessionId[];
  of(source: Source): SourceCheck;
  /** Sessions of the checkpoint that no source has been yet. */
  unseen(): readonly SessionId[];
}

/** Reads a checkpoint or a proof. Ends the command when the file does not match its signature. */
export async function openCheckpoint(
  path: string,
  publicKey: string | undefined,
  output: Output,
): Promise<CheckpointCheck> {
  const checkpoint = await readCheckpointFile(path);
  const fault = findCheckpointFault(
    checkpoint,
    publicKey === undefined ? undefined : await readText(publicKey, AUDIT_FILE_BYTES_MAX),
  );
  if (fault !== null) {
    // A file that holds no key says nothing about the checkpoint.
    const [file, exitCode] = fault.code === 'key_invalid' ? ([publicKey, 2] as const) : ([path, 1] as const);
    throw new CommandFailure(fault.code, `${file}: ${fault.message}. ${REJECTIONS[fault.code]}`, exitCode);
  }
  report(path, checkpoint, { output, trusted: publicKey !== undefined });
  return newCheck(checkpoint.kind === 'checkpoint' ? checkpoint.sessions : [checkpoint.session]);
}

export async function readCheckpointFile(path: string): Promise<CheckpointFile> {
  const text = (await readText(path, AUDIT_FILE_BYTES_MAX)).trimEnd();
  const file = pipe(
    parseJson(text, AUDIT_FILE_BYTES_MAX),
    E.chain((value) => decode(CheckpointFile, value)),
  );
  if (E.isRight(file)) return file.right;
  const { code, path: at, message } = file.left;
  throw new CommandFailure(code, `${path} is not a checkpoint: ${message}${at === '' ? '' : ` at ${at}`}`);
}

function newCheck(leaves: readonly CheckpointLeaf[]): CheckpointCheck {
  const known = new Map(leaves.map((leaf) => [leaf.session_id, leaf]));
  const unseen = new Set(known.keys());
  return {
    sessions: [...known.keys()],
    unseen: () => [...unseen],
    of(source) {
      let watch: ReturnType<typeof newCheckpointWatch> | null = null;
      let leaf: CheckpointLeaf | null = null;
      const choose = (id: SessionId): void => {
        leaf = known.get(id) ?? null;
        if (leaf === null) return;
        unseen.delete(id);
        watch = newCheckpointWatch(leaf);
      };
      // A session is identified by its name, a file by its genesis record.
      if (source.client !== null) choose(source.name as SessionId);
      return {
        add(record) {
          if (source.client === null && record.kind === 'genesis') choose(record.genesis.session_id);
          watch?.add(record);
        },
        finish: () => watch?.finish() ?? null,
        leaf: () => leaf,
      };
    },
  };
}

/** The checkpoint lines of a source that verifies. */
export function checkpointLines(leaf: CheckpointLeaf | null, events: number): readonly string[] {
  if (leaf === null) return [paint.dim('checkpoint: does not contain this session; the checkpoint is older')];
  const since = events - leaf.version;
  return [paint.dim(`checkpoint: matches what was signed at ${leaf.version} events; ${since} more since`)];
}

function report(path: string, file: CheckpointFile, { output, trusted }: { output: Output; trusted: boolean }): void {
  const { head, public_key } = file;
  const fingerprint = digestText(Buffer.from(public_key, 'base64'));
  output.object({ checkpoint: path, ...head, public_key: fingerprint, trusted_key: trusted });
  const what =
    file.kind === 'checkpoint'
      ? `${head.tree_size} ${head.tree_size === 1 ? 'session' : 'sessions'}`
      : `session ${file.session.session_id}`;
  output.line(`checkpoint  ${what}, signed ${new Date(head.created_at_ms).toISOString()}`);
  output.line(
    trusted
      ? paint.dim('            by the given key')
      : `            ${paint.yellow('by the key in the file')}: its author chose that key. To check the signer, give --public-key FILE`,
  );
}
