// Checks that may take long run on a thread of their own, one after the other, each within a time: a regular expression
// cannot be interrupted on the thread that runs it, and would hold the event loop of the engine. A check that takes longer
// ends with its thread, and the next check starts another one.
import { Worker, type MessagePort } from 'node:worker_threads';
import type { JsonObject } from '../../../schemas/json.ts';
import { SCHEMA_THREAD_MIB_MAX, SCHEMA_THREAD_START_MS_MAX, TOOLS_MAX } from '../../../schemas/limits.ts';
import { type Compiler, type SchemaFault, type Validator, newCompiler } from './schema-compile.ts';

/** What a check found: a fault or null; `uncompiled` when the schema gives no verdict; `late` when its time was up. */
export interface ThreadAnswer {
  readonly found: SchemaFault | null | 'uncompiled' | 'late';
  /** How long the check ran, in milliseconds. */
  readonly ms: number;
}

/** A schema by its text and a number that names it. */
export interface NumberedSchema {
  readonly number: number;
  readonly text: string;
}

interface Request {
  readonly schema: number;
  /** Absent when the thread has compiled it already. */
  readonly text?: string;
  readonly value: string;
  /** Forget all schemas first. */
  readonly clear: boolean;
}

/** A check has begun, or has ended. */
type Message = 'begun' | { readonly found: ThreadAnswer['found'] };

interface Waiting {
  readonly schema: NumberedSchema;
  readonly value: string;
  readonly msMax: () => number;
  readonly answer: (answer: ThreadAnswer) => void;
}

/** Runs on the thread. Self-contained, because the thread gets it as text. */
function serveChecks(port: MessagePort, compile: Compiler): void {
  const compiled = new Map<number, Validator | string>();
  port.on('message', ({ schema, text, value, clear }: Request) => {
    port.postMessage('begun');
    let found: ThreadAnswer['found'];
    try {
      if (clear) compiled.clear();
      if (text !== undefined) compiled.set(schema, compile(JSON.parse(text) as JsonObject));
      const validate = compiled.get(schema);
      found = typeof validate === 'function' ? validate(JSON.parse(value) as JsonObject) : 'uncompiled';
    } catch {
      // The stack overflows when the schema refers to itself without end.
      found = 'uncompiled';
    }
    port.postMessage({ found });
  });
}

// ajv is loaded before the first check, which is not to count as its time.
const SOURCE = `
const { parentPort, workerData } = require('node:worker_threads');
const load = require('node:module').createRequire(workerData);
load('ajv/dist/2020.js');
(${serveChecks.toString()})(parentPort, (${newCompiler.toString()})(load));
`;

/** How often the time of a check is looked at. A process that was stopped meanwhile has used one such step at most. */
const STEP_MS = 5;

class CheckThread {
  readonly #waiting: Waiting[] = [];
  #worker: Worker | null = null;
  #known = new Set<number>();
  #busy = false;

  /** `msMax` is asked when the turn of the check has come. */
  check(schema: NumberedSchema, value: string, msMax: () => number): Promise<ThreadAnswer> {
    return new Promise((answer) => {
      this.#waiting.push({ schema, value, msMax, answer });
      if (!this.#busy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const ms = next.msMax();
      next.answer(ms <= 0 ? { found: 'late', ms: 0 } : await this.#run(next, ms));
    }
    this.#busy = false;
  }

  #run({ schema, value }: Waiting, msMax: number): Promise<ThreadAnswer> {
    const worker = (this.#worker ??= startWorker());
    const clear = this.#known.size >= TOOLS_MAX;
    if (clear) this.#known.clear();
    const text = this.#known.has(schema.number) ? {} : { text: schema.text };
    this.#known.add(schema.number);
    return new Promise((resolve) => {
      let left = SCHEMA_THREAD_START_MS_MAX;
      let began = performance.now();
      const end = (found: ThreadAnswer['found']): void => {
        clearInterval(timer);
        worker.off('message', receive).off('error', giveUp).off('exit', giveUp);
        resolve({ found, ms: performance.now() - began });
      };
      const receive = (message: Message): void => {
        if (message !== 'begun') end(message.found);
        else {
          left = msMax;
          began = performance.now();
        }
      };
      const giveUp = (): void => {
        this.#worker = null;
        this.#known = new Set();
        end('late');
        worker.on('error', () => undefined);
        void worker.terminate();
      };
      const timer = setInterval(() => {
        left -= STEP_MS;
        if (left <= 0) giveUp();
      }, STEP_MS);
      worker.on('message', receive).on('error', giveUp).on('exit', giveUp);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage({ schema: schema.number, value, clear, ...text } satisfies Request);
    });
  }
}

function startWorker(): Worker {
  const worker = new Worker(SOURCE, {
    eval: true,
    workerData: import.meta.url,
    resourceLimits: { maxOldGenerationSizeMb: SCHEMA_THREAD_MIB_MAX },
  });
  // A process may end while the thread waits for work.
  worker.unref();
  return worker;
}

/** One thread for all engines of the process. */
export const checkThread = new CheckThread();
