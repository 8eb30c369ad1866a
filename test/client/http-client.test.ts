import { expect, test } from 'vitest';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { connect } from '../../src/client/http-client.ts';
import { must } from '../../src/client/must.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { describeClient } from '../support/engine/client-contract.ts';
import { serveClient } from '../support/engine/serving.ts';

describeClient('a client over HTTP', async () => {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const served = await serveClient(engine.client);
  return {
    client: served.client,
    close: async () => {
      await served.close();
      await engine.close();
    },
  };
});

test.each([undefined, '', 'nope', '127.0.0.1:7423', 'ftp://127.0.0.1', 'http://'])(
  'the URL %j is refused before any request',
  (url) => {
    expect(() => connect(url as string, 'token')).toThrow('must be an http or https URL');
  },
);

test.each([undefined, 'a line\n', ' ahead', 'žluť'])('the token %j is refused before any request', (token) => {
  expect(() => connect('http://127.0.0.1:7423', token as string)).toThrow('trim the text of a token file');
});
