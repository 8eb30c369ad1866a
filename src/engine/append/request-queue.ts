// The submit requests that wait for one session: bounded in number and in bytes, and removed in groups whose events fit
// one append.
import type { Either } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../../schemas/ids.ts';
import { APPEND_BYTES_MAX, EVENTS_PER_COMMIT_MAX, QUEUE_BYTES_MAX, QUEUE_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { Submit, SubmitReceipt } from '../../../schemas/wire.ts';
import type { CheckWaits } from '../edge/budget.ts';
import { isBrake } from './brakes.ts';

export type Receipt = Either<Rejection, SubmitReceipt>;

export interface QueuedRequest {
  readonly request: Submit;
  readonly bytes: number;
  readonly begun: CheckWaits['begun'];
  /** Called with null when this session is retired: submit to the session that replaced it. */
  readonly answer: (receipt: Receipt | null) => void;
}

export class RequestQueue {
  readonly #session: SessionId;
  readonly #waiting: QueuedRequest[] = [];
  #bytes = 0;
  /** Most requests of the next group. */
  #next = Infinity;

  constructor(session: SessionId) {
    this.#session = session;
  }

  isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** `queue_full` when a request of this size does not fit, else null. */
  refuse(bytes: number): Rejection | null {
    if (this.#waiting.length < QUEUE_MAX && this.#bytes + bytes <= QUEUE_BYTES_MAX) return null;
    const waiting = `${this.#waiting.length} requests of ${this.#bytes} bytes wait for session ${this.#session}`;
    return reject('queue_full', '', `${waiting}; send this one again later`);
  }

  add(request: QueuedRequest): void {
    this.#waiting.push(request);
    this.#bytes += request.bytes;
  }

  /** Removes the next requests whose events fit one append; at least one. */
  removeGroup(): readonly QueuedRequest[] {
    let events = 0;
    let bytes = 0;
    let count = 0;
    const most = this.#next;
    this.#next = Infinity;
    for (const waiting of this.#waiting) {
      if (count >= most) break;
      if (count > 0 && !fitsAppend(events + waiting.request.events.length, bytes + waiting.bytes)) break;
      events += waiting.request.events.length;
      bytes += waiting.bytes;
      count += 1;
    }
    this.#bytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  hasBrake(): boolean {
    return this.#waiting.some(({ request }) => isBrake(request));
  }

  /** Puts a group back that was not appended. The requests that end work, of all that wait, are next, as a group. */
  putBackBehindBrakes(group: readonly QueuedRequest[]): void {
    const all = [...group, ...this.#waiting.splice(0)];
    const brakes = all.filter(({ request }) => isBrake(request));
    this.#waiting.push(...brakes, ...all.filter(({ request }) => !isBrake(request)));
    this.#bytes = all.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#next = brakes.length;
  }

  removeAll(): readonly QueuedRequest[] {
    this.#bytes = 0;
    return this.#waiting.splice(0);
  }
}

const fitsAppend = (events: number, bytes: number): boolean =>
  events <= EVENTS_PER_COMMIT_MAX && bytes <= APPEND_BYTES_MAX;
