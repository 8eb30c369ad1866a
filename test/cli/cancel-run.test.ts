// Ctrl-C at `refold run` while the engine refuses to record it.
import * as TE from 'fp-ts/lib/TaskEither.js';
import { expect, test } from 'vitest';
import { type RejectionCode, reject } from '../../schemas/rejection.ts';
import { brand } from '../../schemas/ids.ts';
import { cancelRun } from '../../src/cli/cancel-run.ts';
import type { EngineClient } from '../../src/client/client.ts';

const ID = brand<'SessionId'>('s-1');

async function toldBy(code: RejectionCode | null, run: object | null = { run_id: 'run-1' }): Promise<string[]> {
  const told: string[] = [];
  const submit = code === null ? TE.right({ events: [] }) : TE.left(reject(code, '', 'no space left on device'));
  const client = { session: () => TE.right({ state: { run } }), submit: () => submit };
  await cancelRun(client as unknown as EngineClient, ID, (message) => told.push(message));
  return told;
}

test('a cancellation that the engine refuses is told, with what to do', async () => {
  expect(await toldBy('storage_full')).toEqual([
    'the run is not cancelled: no space left on device. Press Ctrl-C again to leave it as it is; to end it later: refold interrupt s-1',
  ]);
});

test('a run that is cancelled, or over already, needs no word', async () => {
  expect(await toldBy(null)).toEqual([]);
  expect(await toldBy('storage_full', null)).toEqual([]);
  expect(await toldBy('run_not_active')).toEqual([]);
});
