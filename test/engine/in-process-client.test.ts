import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/must.ts';
import { openEngine, startEngine } from '../../src/engine/engine.ts';
import { newSchemaCheck } from '../../src/engine/edge/schema-check.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { describeClient } from '../support/engine/client-contract.ts';
import { temporaryDirectory } from '../support/journal/temporary-directory.ts';

const checkSchema = newSchemaCheck();

describeClient('a client in process, over memory', async () => {
  const stores = { journal: openMemoryJournal(), blobs: openMemoryBlobs() };
  const engine = await must(startEngine({ ...stores, checkSchema }));
  return { client: engine.client, close: () => engine.close() };
});

describeClient('a client in process, over a data directory', async () => {
  const { directory, remove } = await temporaryDirectory();
  const engine = await must(openEngine({ dataDir: directory }));
  return {
    client: engine.client,
    close: async () => {
      await engine.close();
      await remove();
    },
    damageBlob: async (ref) => {
      const digest = ref.slice('sha256:'.length);
      const blobs = join(directory, 'blobs');
      for (const name of await readdir(blobs, { recursive: true })) {
        if (name.endsWith(digest.slice(2)) || name.endsWith(digest)) {
          await writeFile(join(blobs, name), 'other bytes').catch(() => undefined);
        }
      }
    },
  };
});
