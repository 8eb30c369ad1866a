// The files of a simulated machine, which outlive the processes on it: what a bridge that died has noted there, the next
// one finds. What was appended and not synced dies with its process.
import type { MachineFile, MachineFiles } from './bridge-world.ts';
import { type ProcessClock, never } from './sim-time.ts';

export interface SimFiles {
  /** What a process has made or taken over, as far as it is durable. */
  left(process: ProcessClock): readonly Uint8Array[];
  /** The files as one process sees them: once it is dead it does nothing to them. */
  of(process: ProcessClock): MachineFiles;
}

/** `onSync`: something that this process has appended is durable now. */
export function newSimFiles(onSync: (process: ProcessClock) => void): SimFiles {
  const files = new Map<string, Uint8Array>();
  const keepers = new Map<string, ProcessClock>();

  function opened(name: string, process: ProcessClock, act: Act): MachineFile {
    let pending: Uint8Array[] = [];
    return {
      append: (bytes) => act(() => void pending.push(bytes)),
      sync: () =>
        act(() => {
          files.set(name, Buffer.concat([files.get(name) ?? new Uint8Array(), ...pending]));
          pending = [];
          onSync(process);
        }),
      close: () => act(() => undefined),
    };
  }

  return {
    left: (process) => [...files].flatMap(([name, bytes]) => (keepers.get(name) === process ? [bytes] : [])),
    of(process) {
      // One that dies of what it does is told nothing of it either.
      const act: Act = async (work) => {
        const done = process.isDead() ? null : { answer: work() };
        return done === null || process.isDead() ? await never() : done.answer;
      };
      return {
        names: () => act(() => [...files.keys()]),
        read: (name) => act(() => files.get(name) ?? new Uint8Array()),
        create: (name, bytes) =>
          act(() => {
            files.set(name, bytes);
            keepers.set(name, process);
            return opened(name, process, act);
          }),
        rename: (from, to) =>
          act(() => {
            const bytes = files.get(from);
            if (bytes === undefined) return false;
            files.delete(from);
            files.set(to, bytes);
            keepers.set(to, process);
            return true;
          }),
        remove: (name) => act(() => void files.delete(name)),
      };
    },
  };
}

type Act = <T>(work: () => T) => Promise<T>;
