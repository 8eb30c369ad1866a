// `refold events --follow` needs an engine that goes on: in a command of its own nothing is appended.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { deltaLines, eventsCommand } from '../../src/cli/commands/events.ts';
import { newOutput } from '../../src/cli/output.ts';
import { must } from '../../src/client/must.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { brand } from '../../schemas/ids.ts';
import { SESSION, Talk } from '../support/engine/world.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

test('without an engine there is nothing to follow, and the failure says what to do', async () => {
  await inTemporaryDirectory(async (dataDir) => {
    const engine = await must(openEngine({ dataDir }));
    await new Talk(engine.client).create();
    await engine.close();
    const output = newOutput({ stdout: new PassThrough(), stderr: new PassThrough() }, false);
    const followed = eventsCommand({ dataDir, id: SESSION, follow: true, deltas: false, from: 0 }, output);
    await expect(followed).rejects.toMatchObject({
      code: 'no_engine',
      message: expect.stringContaining('refold serve'),
    });
    expect(await eventsCommand({ dataDir, id: SESSION, follow: false, deltas: false, from: 0 }, output)).toBe(0);
  });
});

test('what a model writes is one line, whatever it holds', () => {
  const text = 'a\n    7  2026-01-01  RunCompleted\u001b[2m\u2028\u202eb';
  const lines = deltaLines({
    kind: 'delta',
    run_id: brand<'RunId'>('run-1'),
    turn: 2,
    parts: [{ kind: 'text', text }],
  });
  expect(lines).toEqual(['      ~  run-1 turn 2 text: a␊    7  2026-01-01  RunCompleted␛[2m<U+2028><U+202E>b']);
});
