// Keeps the address of a serving engine published, so that commands find it. On a full disk it cannot be written at first;
// it is written as soon as there is space, because without it no command reaches the engine, `refold interrupt` included.
import { codeOf, storageCode, whatFailed } from '../files/file-failure.ts';
import { type EngineAddress, publishAddress, withdrawAddress } from '../client/engine-address.ts';

export interface KeptAddress {
  /** Withdraws it, and stops trying to publish it. */
  withdraw(): Promise<void>;
}

/** Publishes the address now or, on a full disk, later. Throws an error that names the path on any other failure. */
export async function keepPublished(
  dataDir: string,
  address: EngineAddress,
  notify: (message: string) => void,
): Promise<KeptAddress> {
  let timer: NodeJS.Timeout | null = null;
  let trying: Promise<void> = Promise.resolve();

  async function tryAgain(): Promise<void> {
    try {
      await publishAddress(dataDir, address);
      notify('the address of this engine is published now: commands find it');
    } catch {
      // Told when it failed first. The disk is still full, or fails in a way of which the next write tells.
      later();
    }
  }
  function later(): void {
    timer = setTimeout(() => {
      trying = tryAgain();
    }, PUBLISH_AGAIN_MS);
  }

  try {
    await publishAddress(dataDir, address);
  } catch (error) {
    const failed = `cannot publish the engine’s address: ${whatFailed(error)}`;
    if (storageCode(String(codeOf(error))) !== 'storage_full') throw new Error(failed, { cause: error });
    // A full disk can be read: the address is on this process's output.
    notify(`${failed}. Free some space: until then, no command finds this engine, which serves ${address.url}`);
    later();
  }
  return {
    withdraw: async () => {
      if (timer !== null) clearTimeout(timer);
      await trying;
      if (timer !== null) clearTimeout(timer);
      await withdrawAddress(dataDir, address.pid).catch((error: unknown) =>
        notify(`cannot withdraw the engine’s address: ${whatFailed(error)}; commands find out that it is gone`),
      );
    },
  };
}

const PUBLISH_AGAIN_MS = 1_000;
