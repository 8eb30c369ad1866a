// What an undo would put back, before it is asked for, and what became of those that were.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { upcast } from '../../schemas/upcast.ts';
import { decodeStreamRecord } from '../../schemas/record.ts';
import { mustBe } from '../../src/client/must.ts';
import { streamEvents } from '../support/records.ts';
import { newAsking } from '../support/inspector.ts';

test('each call of a session says whether its files can be put back', async () => {
  const text = await readFile(new URL('../../replay-fixtures/undone-calls/session.jsonl', import.meta.url), 'utf8');
  const records = text
    .trimEnd()
    .split('\n')
    .map((line) => mustBe(decodeStreamRecord(JSON.parse(line))));
  const events = streamEvents(records).map(({ event }) => upcast(event));
  const asking = newAsking();
  const { source } = await asking.ask('open', { kind: 'embedded', name: 'undone-calls', text });
  await asking.ask('alternatives', { source });
  const { turns } = await asking.ask('turns', { source, from: 0, limit: 100 });
  const states: string[] = [];
  for (const card of turns.flatMap(({ calls }) => calls)) {
    const settled = events.find(
      (event) => event.kind === 'ToolCallSettled' && event.call_id === card.call_id && event.batch_id === card.batch_id,
    );
    const changes = settled?.kind === 'ToolCallSettled' ? (settled.changes ?? []) : [];
    const { undo, files, command } = await asking.ask('undoFiles', { source, ...card });
    expect(files.map(({ path }) => path)).toEqual(changes.map(({ path }) => path));
    expect(command).toContain('refold undo ');
    expect(undo.state === 'none').toBe(changes.length === 0);
    states.push(undo.state);
    const last = events.findLast(
      (event) => event.kind === 'UndoSettled' && event.call_id === card.call_id && event.batch_id === card.batch_id,
    );
    if (last?.kind === 'UndoSettled') expect(['done', 'failed', 'pending']).toContain(undo.state);
    for (const change of changes) {
      const shown = await asking.ask('changedFile', { source, ...card, path: change.path });
      expect(shown.change).toEqual(change);
      // A file has no blobs, so what was before is known only to have been.
      if (change.before !== null) expect(shown.before).toHaveProperty('absent');
      else expect(shown.before).toBeNull();
    }
  }
  expect(new Set(states)).toContain('done');
  const [first] = turns.flatMap(({ calls }) => calls);
  expect(
    await asking.refusal('changedFile', { source, ...(first as NonNullable<typeof first>), path: 'x' }),
  ).toMatchObject({
    code: 'not_found',
  });
});
