// Schemas of servers are compiled, and results are held against them, on a thread of its own and within a time: a pattern can be
// made so that matching it takes for ever, and it must not hold the bridge. A check that takes too long ends the thread, and the
// next one starts another.
import { Worker } from 'node:worker_threads';
import type { Json, JsonObject } from '../../schemas/json.ts';
import {
  MCP_CHECK_MIB_MAX,
  MCP_CHECK_MS_MAX,
  MCP_CHECK_START_MS_MAX,
  MCP_COMPILE_MS_MAX,
} from '../../schemas/limits.ts';

export interface SchemaThread {
  /** Why a schema does not compile, for people; null when it does. */
  compileFault(schema: JsonObject): Promise<string | null>;
  /** What of a value does not fit; null when it fits. */
  valueFault(schema: JsonObject, value: Json): Promise<string | null>;
  close(): Promise<void>;
}

interface Job {
  readonly schema: string;
  /** Absent to compile only. */
  readonly value?: string;
}

type Message = 'ready' | { readonly fault: string | null };

// Self-contained: the thread gets it as text. The options are those of the engine's own checks.
const SOURCE = `
const { parentPort, workerData } = require('node:worker_threads');
const load = require('node:module').createRequire(workerData);
const Draft2020 = load('ajv/dist/2020.js').Ajv2020;
const options = { strict: false, allErrors: false, validateFormats: false, validateSchema: false, meta: false, logger: false };
const run = ({ schema, value }) => {
  const { $schema: draft, $id: _id, ...rest } = JSON.parse(schema);
  const old = typeof draft === 'string' && /draft-0[4-7]/.test(draft);
  const validate = new (old ? load('ajv').Ajv : Draft2020)(options).compile(rest);
  if (value === undefined || validate(JSON.parse(value))) return null;
  const { instancePath = '', message = 'does not fit' } = validate.errors?.[0] ?? {};
  return (instancePath === '' ? 'it ' : instancePath + ' ') + message;
};
parentPort.on('message', (job) => {
  let fault;
  try { fault = run(job); } catch (error) { fault = String(error && error.message || error); }
  parentPort.postMessage({ fault: fault === null ? null : fault.slice(0, 400) });
});
parentPort.postMessage('ready');
`;

export function newSchemaThread(): SchemaThread {
  let worker: Promise<Worker> | null = null;
  let before: Promise<unknown> = Promise.resolve();

  const check = (job: Job): Promise<string | null> => {
    const answer = before.then(() => run(job));
    before = answer;
    return answer;
  };

  async function run(job: Job): Promise<string | null> {
    try {
      worker ??= startWorker();
      return await ask(await worker, job);
    } catch (error) {
      void worker?.then((started) => started.terminate()).catch(() => undefined);
      worker = null;
      return error instanceof Error ? error.message : String(error);
    }
  }

  return {
    compileFault: (schema) => check({ schema: JSON.stringify(schema) }),
    valueFault: (schema, value) => check({ schema: JSON.stringify(schema), value: JSON.stringify(value) }),
    async close() {
      const started = await worker?.catch(() => null);
      worker = null;
      await started?.terminate();
    },
  };
}

function startWorker(): Promise<Worker> {
  const worker = new Worker(SOURCE, {
    eval: true,
    workerData: import.meta.url,
    resourceLimits: { maxOldGenerationSizeMb: MCP_CHECK_MIB_MAX },
    env: {},
    execArgv: [],
  });
  worker.unref();
  return within(worker, MCP_CHECK_START_MS_MAX, 'the thread that checks did not start', (message) =>
    message === 'ready' ? { answer: worker } : null,
  );
}

function ask(worker: Worker, job: Job): Promise<string | null> {
  // Compiling ends by itself: what a schema may hold is bounded. A value may be made to match a pattern for ever.
  const msMax = job.value === undefined ? MCP_COMPILE_MS_MAX : MCP_CHECK_MS_MAX;
  const answer = within(worker, msMax, `its check took longer than ${msMax} ms`, (message) =>
    message === 'ready' ? null : { answer: message.fault },
  );
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage(job);
  return answer;
}

/** The first answer of the thread within a time; rejects when it ends or takes longer. */
function within<T>(
  worker: Worker,
  msMax: number,
  late: string,
  read: (message: Message) => { readonly answer: T } | null,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      worker.off('message', onMessage).off('error', onEnd).off('exit', onEnd);
    };
    const timer = setTimeout(() => {
      end();
      reject(new Error(late));
    }, msMax);
    const onMessage = (message: Message): void => {
      const found = read(message);
      if (found === null) return;
      end();
      resolve(found.answer);
    };
    const onEnd = (): void => {
      end();
      reject(new Error('its check needs too much memory'));
    };
    worker.on('message', onMessage).once('error', onEnd).once('exit', onEnd);
  });
}
