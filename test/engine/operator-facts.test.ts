// A bridge, which reports under its owner, may not submit what only an operator decides.
import { isLeft } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { refuseAsBridge } from '../../src/engine/operator-facts.ts';
import { must } from '../../src/client/must.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';

const ADOPTED = { kind: 'RulesAdopted', rules: 2, since: '0.3.0' } as const;

test('a bridge that moves a session to other rules is refused, and nothing is recorded', async () => {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const { session_id } = await must(engine.client.createSession({}));
  const refused = await engine.client.submit(session_id, { owner: 'bridge-1' as never, events: [ADOPTED] })();
  expect(isLeft(refused) && refused.left).toEqual({
    code: 'forbidden',
    path: '/events/0/kind',
    message: 'bridge-1 reports as a bridge, and only an operator submits RulesAdopted',
  });
  expect((await must(engine.client.session(session_id))).state).toMatchObject({ rules: 1, version: 0 });
  await engine.close();
});

test('an operator is answered by the fold, and a bridge may submit every other fact', async () => {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const { session_id } = await must(engine.client.createSession({}));
  const refused = await engine.client.submit(session_id, { events: [ADOPTED] })();
  expect(isLeft(refused) && refused.left).toMatchObject({ code: 'rules_unknown', path: '/events/0/rules' });
  expect(refuseAsBridge({ kind: 'RunPaused', run_id: 'run-1' as never }, { owner: 'bridge-1' as never })).toBeNull();
  await engine.close();
});
