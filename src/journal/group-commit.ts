// Merges the writes that arrive while a write is under way into the next one, so that many sessions share one fsync.
import { COMMIT_BYTES_MAX, COMMIT_REQUESTS_MAX, COMMIT_WAITING_BYTES_MAX } from '../../schemas/limits.ts';
import { refuse } from './refusal.ts';

export interface GroupCommit<Request, Answer> {
  /** Queues a request of about `bytes` bytes; resolves with its answer once its group is committed. */
  submit(request: Request, bytes: number): Promise<Answer>;
  /** Resolves when every request submitted so far is answered. */
  settled(): Promise<void>;
}

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly bytes: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** `commit` receives one group at a time, in order of arrival, and returns one answer for each request. */
export function openGroupCommit<Request, Answer>(
  commit: (group: readonly Request[]) => Promise<readonly Answer[]>,
): GroupCommit<Request, Answer> {
  let waiting: Waiting<Request, Answer>[] = [];
  let waitingBytes = 0;
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    // One turn of the microtask queue, so that requests submitted together are committed together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const size = groupSize(waiting);
      const group = waiting.slice(0, size);
      waiting = waiting.slice(size);
      for (const { bytes } of group) waitingBytes -= bytes;
      await settle(group, commit);
    }
    running = null;
  }

  return {
    submit: (request, bytes) =>
      new Promise((resolve, reject) => {
        if (waiting.length > 0 && waitingBytes + bytes > COMMIT_WAITING_BYTES_MAX) {
          refuse('queue_full', `${waitingBytes} bytes of events are waiting to be written; try again later`);
        }
        waiting.push({ request, bytes, resolve, reject });
        waitingBytes += bytes;
        running ??= run();
      }),
    settled: async () => {
      await running;
    },
  };
}

function groupSize(waiting: readonly { readonly bytes: number }[]): number {
  let bytes = 0;
  const end = waiting.findIndex((next, index) => {
    bytes += next.bytes;
    return index > 0 && (index >= COMMIT_REQUESTS_MAX || bytes > COMMIT_BYTES_MAX);
  });
  return end === -1 ? waiting.length : end;
}

async function settle<Request, Answer>(
  group: readonly Waiting<Request, Answer>[],
  commit: (group: readonly Request[]) => Promise<readonly Answer[]>,
): Promise<void> {
  try {
    const answers = await commit(group.map(({ request }) => request));
    for (const [index, { resolve }] of group.entries()) resolve(answers[index] as Answer);
  } catch (error) {
    for (const { reject } of group) reject(error);
  }
}
