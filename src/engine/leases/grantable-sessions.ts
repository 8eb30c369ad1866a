// The sessions that may owe an effect which no bridge holds, in order of insertion. Bridges request the same kinds of work
// and the same tools again and again: a session that had nothing grantable for a request is skipped for that request
// until something in the session becomes grantable.
import type { SessionId } from '../../../schemas/ids.ts';
import { LEASE_REQUESTS_KEPT } from '../../../schemas/limits.ts';
import type { Wanted } from '../../../schemas/wire.ts';

export class GrantableSessions {
  readonly #all = new Set<SessionId>();
  /** The candidates for each kind of request, among the sessions above. The least recently used entry comes first. */
  readonly #candidates = new Map<string, Set<SessionId>>();

  has(id: SessionId): boolean {
    return this.#all.has(id);
  }

  add(id: SessionId): void {
    this.#all.add(id);
    for (const sessions of this.#candidates.values()) sessions.add(id);
  }

  delete(id: SessionId): void {
    this.#all.delete(id);
    for (const sessions of this.#candidates.values()) sessions.delete(id);
  }

  /** The sessions to examine for a request. The caller deletes each session that has nothing for it from the set. */
  candidates({ kinds, tools, workspace }: Pick<Wanted, 'kinds' | 'tools' | 'workspace'>): Set<SessionId> {
    const key = JSON.stringify([kinds, tools, workspace]);
    const found = this.#candidates.get(key) ?? new Set(this.#all);
    this.#candidates.delete(key);
    this.#candidates.set(key, found);
    if (this.#candidates.size > LEASE_REQUESTS_KEPT) {
      const [oldest] = this.#candidates.keys();
      if (oldest !== undefined) this.#candidates.delete(oldest);
    }
    return found;
  }
}
