import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { blobsContract } from '../support/journal/blobs-contract.ts';

blobsContract('blobs in memory', async () => {
  const blobs = openMemoryBlobs();
  return { blobs, reopen: async () => blobs, dispose: () => blobs.close() };
});
