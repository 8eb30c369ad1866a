// Runs calls on this machine. An output too long to return waits in a file: it becomes a blob, and the file goes.
import { readFile, rm } from 'node:fs/promises';
import { isPlainObject } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import type { HostSessionFacts } from '../../schemas/tool-set.ts';
import type { Host } from '../host/host-tools.ts';
import type { HostOutcome } from '../host/outcome.ts';
import { WHOLE_NOTE_BYTES } from '../call-output.ts';
import { type CallReport, failedReport } from './call-report.ts';
import type { CallContext, Executor } from './executors.ts';

export function hostExecutor(host: Pick<Host, 'run' | 'has'>): Executor {
  return {
    tools: ['host.*'],
    async run({ tool_id }, args, context) {
      if (!host.has(tool_id)) return failedReport('executor_missing', `this host has no tool "${tool_id}"`);
      const { signal, timeoutMs } = context;
      // Room for the line that names the whole output, should this one be cut.
      const outputBytesMax = Math.max(1, context.outputBytesMax - WHOLE_NOTE_BYTES);
      const outcome = await host.run(tool_id, args, { signal, timeoutMs, outputBytesMax });
      const whole = outcome.spill === undefined ? undefined : await keepSpill(outcome.spill.path, context);
      return reportOf(outcome, whole);
    },
  };
}

async function keepSpill(path: string, context: CallContext): Promise<CallReport['whole']> {
  try {
    const bytes = (await readFile(path)).subarray(0, BLOB_BYTES_MAX);
    return { ref: await context.putBlob(bytes), bytes: bytes.length };
  } catch {
    // The call is over and its head and tail are here: a file that cannot be read any more is no reason to fail it.
    return undefined;
  } finally {
    await rm(path, { force: true });
  }
}

function reportOf(outcome: HostOutcome, whole: CallReport['whole']): CallReport {
  const { success, code, text, data, hostSession } = outcome;
  return {
    success,
    text,
    ...(success || code === undefined ? {} : { code }),
    ...(data === undefined ? {} : { data }),
    ...(whole === undefined ? {} : { whole }),
    ...(hostSession === undefined ? {} : { host_session: factsOf(hostSession) }),
  };
}

// Absent fields must be absent, not undefined.
const factsOf = (facts: object): HostSessionFacts =>
  isPlainObject(facts)
    ? (Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as HostSessionFacts)
    : {};
