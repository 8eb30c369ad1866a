import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { describeClient } from '../support/engine/client-contract.ts';
import { serveClient } from '../support/engine/serving.ts';
import { done } from '../support/journal/outcomes.ts';

describeClient('a client over HTTP', async () => {
  const engine = await done(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const served = await serveClient(engine.client);
  return {
    client: served.client,
    close: async () => {
      await served.close();
      await engine.close();
    },
  };
});
