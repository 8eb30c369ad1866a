// Checks that may take long run on a thread of their own, one after the other, each within a time: on the thread of the
// engine, a regular expression would hold the event loop. The thread ends a check that takes longer, and goes on with the
// next one. When it does not, or needs too much memory, the thread is ended, and the next check starts another one.
import type * as Vm from 'node:vm';
import { Worker, type MessagePort } from 'node:worker_threads';
import type { JsonObject } from '../../../schemas/json.ts';
import { SCHEMA_THREAD_MIB_MAX, SCHEMA_THREAD_START_MS_MAX, TOOLS_MAX } from '../../../schemas/limits.ts';
import { CheckQueue, type QueuedCheck, shareMs } from './check-queue.ts';
import { type Compiler, type SchemaFault, type Validator, newCompiler } from './schema-compile.ts';

/**
 * What a check found: a fault or null; `uncompiled` when the schema gives no verdict; `late` when its time was up; `crowded`
 * when too many others wait, so that it was not made.
 */
export interface ThreadAnswer {
  /** The fault that the schema finds in the value, null when it finds none, or why there is no verdict. */
  readonly found: SchemaFault | null | 'uncompiled' | 'late' | 'crowded';
  /** How long the check ran, in milliseconds. */
  readonly ms: number;
}

/** A schema by its text and a number that names it. */
export interface NumberedSchema {
  readonly number: number;
  readonly text: string;
  /** Whether its last check took too long. */
  readonly slow: boolean;
}

interface Request {
  readonly schema: number;
  /** Absent when the thread has compiled it already. */
  readonly text?: string;
  readonly value: string;
  /** Forget all schemas first. */
  readonly clear: boolean;
  readonly msMax: number;
}

/** A check has begun, or has ended. */
type Message = 'begun' | { readonly found: ThreadAnswer['found']; readonly keeps: boolean };

interface Waiting extends QueuedCheck {
  readonly schema: NumberedSchema;
  readonly value: string;
  readonly msMax: () => number;
  readonly answer: (answer: ThreadAnswer) => void;
}

/** Runs on the thread. Self-contained, because the thread gets it as text. */
function serveChecks(port: MessagePort, compile: Compiler, { Script }: typeof Vm): void {
  const compiled = new Map<number, Validator | string>();
  const world = globalThis as { runCheck?: () => ThreadAnswer['found'] };
  const script = new Script('runCheck()');

  function check({ schema, text, value }: Request): ThreadAnswer['found'] {
    if (text !== undefined) compiled.set(schema, compile(JSON.parse(text) as JsonObject));
    const validate = compiled.get(schema);
    return typeof validate === 'function' ? validate(JSON.parse(value) as JsonObject) : 'uncompiled';
  }

  function checkWithin(request: Request, triesLeft: number): ThreadAnswer['found'] {
    const began = performance.now();
    world.runCheck = () => check(request);
    try {
      return script.runInThisContext({ timeout: request.msMax }) as ThreadAnswer['found'];
    } catch (error) {
      // The stack overflows when the schema refers to itself without end.
      if ((error as { readonly code?: string }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'uncompiled';
      // A process that was stopped meanwhile has not used that time.
      const wasStopped = performance.now() - began > 4 * request.msMax;
      return wasStopped && triesLeft > 0 ? checkWithin(request, triesLeft - 1) : 'late';
    }
  }

  port.on('message', (request: Request) => {
    port.postMessage('begun');
    if (request.clear) compiled.clear();
    const found = checkWithin(request, 1);
    // A schema that was not compiled in time is compiled again with its next value.
    port.postMessage({ found, keeps: compiled.has(request.schema) });
  });
}

// ajv is loaded before the first check, which is not to count as its time.
const SOURCE = `
const { parentPort, workerData } = require('node:worker_threads');
const load = require('node:module').createRequire(workerData);
load('ajv/dist/2020.js');
(${serveChecks.toString()})(parentPort, (${newCompiler.toString()})(load), load('node:vm'));
`;

/** How often the time of a check is looked at. A process that was stopped meanwhile has used one such step at most. */
const STEP_MS = 5;

/** The thread is ended when it has not ended a check so many milliseconds after its time was up. */
const UNENDED_MS_MAX = 250;

class CheckThread {
  readonly #waiting = new CheckQueue<Waiting>();
  #worker: Worker | null = null;
  #known = new Set<number>();
  #busy = false;

  /** `msMax` is asked when the turn of the check has come. */
  check(schema: NumberedSchema, value: string, msMax: () => number): Promise<ThreadAnswer> {
    return new Promise((answer) => {
      const refused = this.#waiting.add({ schema, value, msMax, answer, slow: schema.slow });
      refused?.answer({ found: 'crowded', ms: 0 });
      if (!this.#busy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    for (let next = this.#waiting.next(); next !== undefined; next = this.#waiting.next()) {
      const ms = Math.min(next.msMax(), shareMs(this.#waiting.size));
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
        if (message !== 'begun') {
          if (!message.keeps) this.#known.delete(schema.number);
          end(message.found);
        } else {
          left = 2 * msMax + UNENDED_MS_MAX;
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
      worker.postMessage({ schema: schema.number, value, clear, msMax: Math.ceil(msMax), ...text } satisfies Request);
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
