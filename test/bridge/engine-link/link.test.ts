// What a bridge says while the engine does not take its reports.
import * as TE from 'fp-ts/lib/TaskEither.js';
import { expect, test } from 'vitest';
import { newLink } from '../../../bridge/engine-link/link.ts';
import { reject } from '../../../schemas/rejection.ts';

test('on a full disk, a request that is answered does not mean that the waiting ones go on', async () => {
  const log: string[] = [];
  const fire: (() => void)[] = [];
  const clock = { now: () => 0, after: (_ms: number, run: () => void) => (fire.push(run), () => undefined) };
  const link = newLink({
    clock: clock as never,
    random: () => 0,
    log: ({ event }) => void log.push(event),
    signal: new AbortController().signal,
  });
  let isFull = true;
  const report = link.ask('report', () =>
    isFull ? TE.left(reject('storage_full', '', 'no space left on device')) : TE.right('reported'),
  );
  const other = link.ask('put_blob', () =>
    isFull ? TE.left(reject('storage_full', '', 'no space left on device')) : TE.right('put'),
  );
  await new Promise(setImmediate);
  await link.ask('lease', () => TE.right('granted'));
  expect(log).toEqual(['reconnecting']);
  isFull = false;
  for (const run of fire.splice(0)) run();
  await Promise.all([report, other]);
  expect(log).toEqual(['reconnecting', 'reconnected']);
});
