// `refold checkpoint`: creates a signing key, signs the heads of all sessions, or proves that a checkpoint contains one.
import { open, rm, stat } from 'node:fs/promises';
import { isLeft } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Checkpoint, CheckpointFile, CheckpointLeaf } from '../../../schemas/checkpoint.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { AUDIT_FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import { newSigningKeys, signCheckpoint } from '../../audit/signature.ts';
import { allSessions } from '../../client/all-sessions.ts';
import type { EngineClient } from '../../client/client.ts';
import { proveSession } from '../../core/checkpoint.ts';
import { withEngine } from '../with-engine.ts';
import { cannotWrite, readText } from '../files.ts';
import { mustBe } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { readCheckpointFile } from '../audit/checkpoint-check.ts';

export interface CheckpointCommand {
  /** The private key to sign with. */
  readonly key?: string;
  /** Where to create a key; the public key is written beside it. */
  readonly newKey?: string;
  readonly prove?: SessionId;
  /** The checkpoint that the proof is taken from. */
  readonly checkpoint?: string;
  /** A new file; standard output when absent. */
  readonly file?: string;
  readonly dataDir: string;
}

export async function checkpointCommand(command: CheckpointCommand, output: Output): Promise<number> {
  const { key, newKey, prove, checkpoint } = command;
  if ([key, newKey, prove].filter((given) => given !== undefined).length !== 1) {
    throw new CommandFailure(
      'invalid_shape',
      'give exactly one of --new-key FILE, --key FILE, or --prove SESSION --checkpoint FILE',
    );
  }
  if (newKey !== undefined) return await makeKey(newKey, output);
  if (key !== undefined) return await signSessions(key, command, output);
  if (checkpoint === undefined) {
    throw new CommandFailure('invalid_shape', '--prove requires the checkpoint: give --checkpoint FILE');
  }
  return await proveFrom(checkpoint, prove as SessionId, { file: command.file, output });
}

async function makeKey(file: string, output: Output): Promise<number> {
  const { privatePem, publicPem } = newSigningKeys();
  await writeNew(file, privatePem, 0o600);
  await writeNew(`${file}.pub`, publicPem, 0o644);
  output.object({ key: file, public_key: `${file}.pub` });
  output.line(`private key  ${file} ${paint.dim('(keep it secret: its holder can sign)')}`);
  output.line(`public key   ${file}.pub ${paint.dim('(give it to those who verify)')}`);
  return 0;
}

async function signSessions(keyFile: string, { dataDir, file }: CheckpointCommand, output: Output): Promise<number> {
  const privatePem = await readKey(keyFile);
  const leaves = await withEngine(dataDir, (client) => readLeaves(client, output));
  const checkpoint = mustBe(signCheckpoint(leaves, { privatePem, created_at_ms: Date.now() }));
  await writeOut(checkpoint, file, output);
  if (file !== undefined) reportCheckpoint(checkpoint, file, output);
  return 0;
}

/** The head of every session. Loading verifies each session before it is signed for. */
async function readLeaves(client: EngineClient, output: Output): Promise<readonly CheckpointLeaf[]> {
  const sessions: SessionId[] = [];
  for await (const { session_id } of allSessions(client)) sessions.push(session_id);
  const leaves: CheckpointLeaf[] = [];
  const bad: string[] = [];
  for (const session_id of sessions) {
    const view = await client.session(session_id)();
    if (isLeft(view)) bad.push(`${session_id} (${view.left.code})`);
    else leaves.push({ session_id, version: view.right.state.version, chain: view.right.chain });
    output.note(`${leaves.length} of ${sessions.length} sessions`);
  }
  output.note('');
  if (bad.length === 0) return leaves;
  const named = bad.slice(0, NAMED_MAX).join(', ');
  throw new CommandFailure(
    'damaged',
    `nothing was signed: ${bad.length} of ${sessions.length} sessions do not verify: ${named}. For details: refold verify --all`,
    1,
  );
}

const NAMED_MAX = 10;

function reportCheckpoint({ head, sessions }: Checkpoint, file: string, output: Output): void {
  output.object({ file, ...head });
  const events = sessions.reduce((sum, { version }) => sum + version, 0);
  output.line(`${head.tree_size} session${head.tree_size === 1 ? '' : 's'}, ${events} events, signed into ${file}`);
  output.line(`root     ${head.root}`);
  output.line(
    paint.dim(
      `store it where this machine cannot write. Later: refold verify --checkpoint ${file} --public-key KEY.pub`,
    ),
  );
}

async function proveFrom(
  path: string,
  id: SessionId,
  { file, output }: { readonly file: string | undefined; readonly output: Output },
): Promise<number> {
  const checkpoint = await readCheckpointFile(path);
  if (checkpoint.kind !== 'checkpoint') {
    throw new CommandFailure('invalid_shape', `${path} is a proof, not a checkpoint. Give the whole checkpoint`);
  }
  const proof = proveSession(checkpoint, id);
  if (proof === null) {
    throw new CommandFailure(
      'unknown_session',
      `${path} does not contain session ${id}. It contains ${checkpoint.sessions.length} other sessions`,
    );
  }
  await writeOut(proof, file, output);
  if (file === undefined) return 0;
  output.object({ file, ...proof.head, session: proof.session, steps: proof.path.length });
  output.line(`${id} at ${proof.session.version} events: ${proof.path.length} digests to the root, written to ${file}`);
  return 0;
}

async function writeOut(value: CheckpointFile, file: string | undefined, { stdout }: Output): Promise<void> {
  const text = `${canonicalText(value)}\n`;
  if (file === undefined) stdout.write(text);
  else await writeNew(file, text, 0o644);
}

// A key or a checkpoint must not overwrite another file.
async function writeNew(file: string, text: string, mode: number): Promise<void> {
  const unwritable = (error: unknown): never => {
    throw cannotWrite(file, error);
  };
  const opened = await open(file, 'wx', mode).catch(unwritable);
  try {
    await opened.writeFile(text);
  } catch (error) {
    // A partial file is useless and would block the next attempt.
    await rm(file, { force: true });
    unwritable(error);
  } finally {
    await opened.close();
  }
}

async function readKey(file: string): Promise<string> {
  const text = await readText(file, AUDIT_FILE_BYTES_MAX);
  const { mode } = await stat(file);
  if ((mode & 0o077) !== 0) {
    throw new CommandFailure('key_invalid', `other users may read ${file}. Restrict it first: chmod 600 ${file}`);
  }
  return text;
}
