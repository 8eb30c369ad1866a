// Which sessions are active (they have work for a bridge, and stay in memory) and which are idle (they may be evicted, also
// when they wait for a person or a time). The number of active sessions is bounded.
import type { SessionId } from '../../../schemas/ids.ts';
import { ACTIVE_SESSIONS_MAX, IDLE_CHECKS_MAX, IDLE_SESSIONS_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import { type IdleOptions, type IdleSessions, newIdleSessions } from './idle-sessions.ts';

export class SessionActivity {
  readonly #activeMax: number;
  /** Active sessions, in memory or being loaded again. */
  readonly #active = new Set<SessionId>();
  readonly #idle: IdleSessions;

  constructor(mayEvict: IdleOptions['mayEvict'], activeMax: number = ACTIVE_SESSIONS_MAX) {
    this.#activeMax = activeMax;
    this.#idle = newIdleSessions({ sessionsMax: IDLE_SESSIONS_MAX, checksMax: IDLE_CHECKS_MAX, mayEvict });
  }

  /** Why this session must not become active, or null; a session that is active already may continue. */
  refuseActive(id: SessionId): Rejection | null {
    return this.#active.has(id) ? null : this.refuseAnother();
  }

  /** Why no further session may become active, or null. */
  refuseAnother(): Rejection | null {
    if (this.#active.size < this.#activeMax) return null;
    const message = `${this.#active.size} sessions are active, of at most ${this.#activeMax}`;
    return reject('too_many_active_sessions', '', `${message}; finish or interrupt a run, then try again`);
  }

  /** A session was loaded or has adopted events. Returns the idle sessions to evict. */
  update(id: SessionId, active: boolean): readonly SessionId[] {
    if (active) {
      this.#active.add(id);
      this.#idle.delete(id);
    } else {
      this.#active.delete(id);
      this.#idle.add(id);
    }
    return this.#idle.removeExcess();
  }

  /** A session was used. */
  touch(id: SessionId): void {
    this.#idle.touch(id);
  }

  /** A session left memory to be loaded again; an active one still counts. */
  unload(id: SessionId): void {
    this.#idle.delete(id);
  }

  /** A session cannot be loaded again: it is no longer active. */
  forget(id: SessionId): void {
    this.#active.delete(id);
  }
}
