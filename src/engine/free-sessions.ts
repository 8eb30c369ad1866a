// The sessions in which something may be free, in the order in which it became so. A bridge asks for the same kinds of
// work and the same tools again and again: a session in which nothing of that was free is not looked at for such a
// request before something has become free in it.
import type { SessionId } from '../../schemas/ids.ts';
import { LEASE_REQUESTS_KEPT } from '../../schemas/limits.ts';
import type { Wanted } from '../../schemas/wire.ts';

export class FreeSessions {
  readonly #all = new Set<SessionId>();
  /** By what is asked for, of those above: where it may be found. What was not asked for the longest time comes first. */
  readonly #asked = new Map<string, Set<SessionId>>();

  has(id: SessionId): boolean {
    return this.#all.has(id);
  }

  add(id: SessionId): void {
    this.#all.add(id);
    for (const sessions of this.#asked.values()) sessions.add(id);
  }

  delete(id: SessionId): void {
    this.#all.delete(id);
    for (const sessions of this.#asked.values()) sessions.delete(id);
  }

  /** Where something of what is wanted may be free. Whoever finds nothing of it in one takes that out. */
  candidates({ kinds, tools }: Pick<Wanted, 'kinds' | 'tools'>): Set<SessionId> {
    const key = JSON.stringify([kinds, tools]);
    const found = this.#asked.get(key) ?? new Set(this.#all);
    this.#asked.delete(key);
    this.#asked.set(key, found);
    if (this.#asked.size > LEASE_REQUESTS_KEPT) {
      const [longest] = this.#asked.keys();
      if (longest !== undefined) this.#asked.delete(longest);
    }
    return found;
  }
}
