// Runs calls of host tools on this machine. An output that is too long to return is in a file: the executor stores it as
// a blob and removes the file.
import { readFile, rm } from 'node:fs/promises';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import type { Attachments } from '../../schemas/content.ts';
import type { FileChange, KeptBytes, Withheld } from '../../schemas/undo.ts';
import type { Host } from '../host/open-host.ts';
import type { ChangedFile, HostOutcome, ShownFile } from '../host/outcome.ts';
import { reasonOf } from '../../src/files/file-failure.ts';
import { WHOLE_NOTE_BYTES } from '../engine-link/text-content.ts';
import { type CallReport, failedReport } from './call-report.ts';
import type { CallContext, Executor } from './executors.ts';

export function hostExecutor(
  host: Pick<Host, 'run' | 'has'> & Partial<Pick<Host, 'preview' | 'restore' | 'workspaceName' | 'place'>>,
): Executor {
  const { preview, restore, workspaceName, place } = host;
  const named = workspaceName === undefined ? {} : { workspace: workspaceName };
  return {
    ...(preview === undefined ? {} : { preview: ({ tool_id }, args) => preview(tool_id, args) }),
    ...(restore === undefined ? {} : { restore: (files) => reportOf(restore(files), {}) }),
    ...named,
    ...(place === undefined ? {} : { place }),
    tools: ['host.*'],
    async run({ session_id, tool_id }, args, context) {
      if (!host.has(tool_id)) return failedReport('executor_missing', `this host has no tool "${tool_id}"`);
      const { previewed } = context;
      const more = previewed === undefined ? {} : { previewed };
      const run = (limits: HostLimits): Promise<HostOutcome> =>
        host.run(tool_id, args, { sessionId: session_id, ...limits, ...more });
      return await reportHostRun(run, context, named);
    },
  };
}

type HostLimits = Pick<CallContext, 'signal' | 'timeoutMs' | 'outputBytesMax'>;

/** Runs work of a host within the limits of a call, and stores what its outcome only names. */
export async function reportHostRun(
  run: (limits: HostLimits) => Promise<HostOutcome>,
  context: CallContext,
  named: { readonly workspace?: string } = {},
): Promise<CallReport> {
  const { signal, timeoutMs } = context;
  // Leaves room for the line that names the whole output when the text is cut.
  const outputBytesMax = Math.max(1, context.outputBytesMax - WHOLE_NOTE_BYTES);
  const outcome = await run({ signal, timeoutMs, outputBytesMax });
  const kept: KeptSpill =
    outcome.spill === undefined ? unkeptOf(outcome) : await keepSpill(outcome.spill.path, context);
  const changes = await keepChanges(outcome.changes ?? [], context);
  const attachments = await keepShown(outcome.shown ?? [], context);
  return reportOf(withNote(outcome, kept.unkept), {
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(kept.whole === undefined ? {} : { whole: kept.whole }),
    ...(changes.length === 0 ? {} : { changes, ...(named as Pick<CallReport, 'workspace'>) }),
  });
}

interface KeptSpill {
  readonly whole?: NonNullable<CallReport['whole']>;
  /** Why the whole output is not kept. */
  readonly unkept?: string;
}

const unkeptOf = ({ unkept }: HostOutcome): KeptSpill => (unkept === undefined ? {} : { unkept });

async function keepSpill(path: string, context: CallContext): Promise<KeptSpill> {
  try {
    const bytes = (await readFile(path)).subarray(0, BLOB_BYTES_MAX);
    return { whole: { ref: await context.putBlob(bytes), bytes: bytes.length } };
  } catch (error) {
    // The call has ended, and the text has head and tail: a file that cannot be read must not fail the call.
    return { unkept: reasonOf(error) };
  } finally {
    await rm(path, { force: true });
  }
}

/** Says in the text that the whole output was not kept, because its reader would look for it. */
const withNote = (outcome: HostOutcome, unkept: string | undefined): HostOutcome =>
  unkept === undefined
    ? outcome
    : {
        ...outcome,
        text: `${outcome.text}\n[the whole output was not kept: ${unkept.slice(0, REASON_CHARS_MAX).toWellFormed()}]`,
      };

/** With it, the note is shorter than WHOLE_NOTE_BYTES. */
const REASON_CHARS_MAX = 64;

/** Stores the files that the model gets with the text. One that cannot be stored fails the call, which changed nothing. */
async function keepShown(files: readonly ShownFile[], { putBlob }: CallContext): Promise<Attachments> {
  const kept: Attachments[number][] = [];
  for (const { bytes, ...file } of files) kept.push({ ...file, ref: await putBlob(bytes), bytes: bytes.length });
  return kept;
}

/** Stores the bytes before the change as blobs, so that they are durable before the bridge reports the call's end. */
async function keepChanges(changes: readonly ChangedFile[], { putBlob }: CallContext): Promise<readonly FileChange[]> {
  const kept: FileChange[] = [];
  for (const { before, ...change } of changes) {
    kept.push({ ...change, before: Buffer.isBuffer(before) ? await keepBytes(before, putBlob) : before });
  }
  return kept;
}

async function keepBytes(bytes: Buffer, putBlob: CallContext['putBlob']): Promise<KeptBytes | Withheld> {
  try {
    return { ref: await putBlob(bytes), bytes: bytes.length };
  } catch {
    // The call has done its work: it must not fail because it cannot be undone.
    return { withheld: 'not_kept' };
  }
}

function reportOf(
  outcome: HostOutcome,
  kept: Pick<CallReport, 'attachments' | 'whole' | 'changes' | 'workspace'>,
): CallReport {
  const { success, code, text, data, hostSession, nextAction } = outcome;
  return {
    success,
    text,
    ...(success || code === undefined ? {} : { code }),
    ...(data === undefined ? {} : { data }),
    // With a next step, the model goes on, also in a run that a failure would end.
    ...(nextAction === undefined ? {} : { nextAction, needsFollowup: true }),
    ...kept,
    ...(hostSession === undefined ? {} : { host_session: hostSession }),
  };
}
