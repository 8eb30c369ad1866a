// The files of a simulated machine. They outlive its processes: a bridge finds what a dead one wrote. Bytes that were
// appended but not synced are lost with their process.
import type { MachineFile, MachineFiles } from './bridge-world.ts';
import { type ProcessClock, never } from './sim-time.ts';

export interface SimFiles {
  /** The durable bytes of the files that a process created or renamed. */
  left(process: ProcessClock): readonly Uint8Array[];
  /** The files as one process sees them. A dead process no longer changes them. */
  of(process: ProcessClock): MachineFiles;
}

/** `onSync` is called when bytes that a process appended have become durable. */
export function newSimFiles(onSync: (process: ProcessClock) => void): SimFiles {
  const files = new Map<string, Uint8Array>();
  const creators = new Map<string, ProcessClock>();

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
    left: (process) => [...files].flatMap(([name, bytes]) => (creators.get(name) === process ? [bytes] : [])),
    of(process) {
      // A process that dies during the operation gets no answer either.
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
            creators.set(name, process);
            return opened(name, process, act);
          }),
        rename: (from, to) =>
          act(() => {
            const bytes = files.get(from);
            if (bytes === undefined) return false;
            files.delete(from);
            files.set(to, bytes);
            creators.set(to, process);
            return true;
          }),
        remove: (name) => act(() => void files.delete(name)),
      };
    },
  };
}

type Act = <T>(work: () => T) => Promise<T>;
