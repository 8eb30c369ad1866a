// The files of a simulated machine, which outlive the processes on it: what a bridge that died has noted there, the next
// one finds. What was appended and not synced dies with its process.
import type { MachineFile, MachineFiles } from './bridge-world.ts';
import { type ProcessClock, never } from './sim-time.ts';

export interface SimFiles {
  /** The files as one process sees them: once it is dead it does nothing to them. */
  of(process: ProcessClock): MachineFiles;
}

export function newSimFiles(): SimFiles {
  const files = new Map<string, Uint8Array>();

  function opened(name: string, act: Act): MachineFile {
    let pending: Uint8Array[] = [];
    return {
      append: (bytes) => act(() => void pending.push(bytes)),
      sync: () =>
        act(() => {
          files.set(name, Buffer.concat([files.get(name) ?? new Uint8Array(), ...pending]));
          pending = [];
        }),
      close: () => act(() => undefined),
    };
  }

  return {
    of(process) {
      const act: Act = async (work) => (process.isDead() ? await never() : work());
      return {
        names: () => act(() => [...files.keys()]),
        read: (name) => act(() => files.get(name) ?? new Uint8Array()),
        create: (name, bytes) =>
          act(() => {
            files.set(name, bytes);
            return opened(name, act);
          }),
        rename: (from, to) =>
          act(() => {
            const bytes = files.get(from);
            if (bytes === undefined) return false;
            files.delete(from);
            files.set(to, bytes);
            return true;
          }),
        remove: (name) => act(() => void files.delete(name)),
      };
    },
  };
}

type Act = <T>(work: () => T) => Promise<T>;
