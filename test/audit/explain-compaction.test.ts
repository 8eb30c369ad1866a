// The explanation of compactions: why each was owed, through which page, what failed, what the summary cost.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { isLeft } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import { EVENT_VERSION, type Position, type StreamRecord } from '../../schemas/index.ts';
import { compactionLines } from '../../src/shown/compaction-lines.ts';
import {
  type FoldedEvent,
  explainCompactions,
  newCompactionHistory,
  newReplayer,
  stepNew,
} from '../../src/core/index.ts';
import { ROOT, jsonLines, refold } from '../support/e2e/refold.ts';

const FILE = join(ROOT, 'replay-fixtures/compaction/session.jsonl');
const records = (await readFile(FILE, 'utf8'))
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as StreamRecord);
const found = explainCompactions(records);

test('every compaction of a session is found once, with its cause and its end', () => {
  const seen = found.map(({ run_id, turn, cause, failures, summary, dropped }) => ({
    where: `${run_id}/${turn}`,
    cause,
    failures: failures.map(({ code, again }) => `${code}${again ? ' again' : ''}`),
    entries: summary?.entries ?? null,
    dropped: dropped?.by ?? null,
  }));
  const busy = ['provider_retryable again', 'provider_retryable'];
  expect(seen).toEqual([
    { where: 'run-1/5', cause: 'mark', failures: [], entries: 9, dropped: null },
    { where: 'run-1/9', cause: 'mark', failures: busy, entries: null, dropped: null },
    { where: 'run-1/10', cause: 'context_length', failures: [], entries: 18, dropped: null },
    { where: 'run-3/2', cause: 'context_length', failures: ['no_summary'], entries: null, dropped: null },
  ]);
});

test('each names the page that it ends with, which the event of its summary names, too', () => {
  for (const { through, summary } of found) {
    if (summary === null) continue;
    const text = JSON.stringify(
      records.find((record) => record.kind === 'commit' && record.position === summary.position),
    );
    expect(text).toContain(`"through":"${through}"`);
  }
  expect(found.map(({ through }) => through)).not.toContain(null);
});

test('one that its run did not wait for is found with the event that ended it', () => {
  const history = newCompactionHistory();
  const owed: FoldedEvent[] = [];
  const replayer = newReplayer((folded) => {
    if (folded.after.run?.compact?.answered === false) owed.push(folded);
  });
  for (const record of records) replayer.add(record);
  const [first] = owed;
  if (first === undefined) throw new Error('the session owes a compaction');
  history.add(first);
  const cancel = {
    kind: 'RunCancelled',
    v: EVENT_VERSION,
    event_id: 'x',
    at_ms: first.event.at_ms + 1,
    run_id: 'run-1',
  };
  const stepped = stepNew(first.after, cancel as never);
  if (isLeft(stepped)) throw new Error(stepped.left.message);
  const { event, state } = stepped.right;
  history.add({ ...first, position: 13 as Position, event, before: first.after, after: state });
  expect(history.result()).toMatchObject([{ turn: 5, summary: null, dropped: { by: 'RunCancelled', position: 13 } }]);
  const lines = history
    .result()
    .flatMap(compactionLines)
    .map((line) => stripVTControlCharacters(line));
  expect(lines.at(-1)).toContain('none: RunCancelled ended the compaction, position 13');
});

test('it is written with what it cost and what is kept of the answers', () => {
  const [first] = found;
  if (first === undefined || first.summary === null) throw new Error('the first compaction has a summary');
  const response = digestText('the answer');
  const request = digestText('the request');
  const exchange = { encoder: 'openai.chat/1', request, response, response_bytes: 10 };
  const failure = { ...first.summary, code: 'provider_terminal', message: 'it made calls', again: true };
  const lines = compactionLines({
    ...first,
    failures: [{ ...failure, exchange: { ...exchange, response_redacted: true } }],
    summary: { ...first.summary, exchange: { encoder: 'openai.chat/1', request } },
  }).map((line) =>
    stripVTControlCharacters(line)
      .trim()
      .replaceAll(/ \d{4}-\d\d-\d\dT[\d:.]+Z/g, ''),
  );
  expect(lines).toEqual([
    'compacted  because the last answer took 101 tokens, and the mark is 100; owed since position 12',
    `through    page ${first.through}: the first 9 messages`,
    'failed     position 14: provider_terminal: it made calls; the compaction is tried again',
    `wire       request ${request}; response ${response}, 10 bytes, without a secret`,
    'summary    position 14: it stands for 9 messages, for 80 tokens in, 20 out',
    `wire       request ${request}; no response is kept`,
  ]);
});

test('refold explain --compactions prints all of them, as far as the events go', async () => {
  const { stdout } = await refold(['explain', FILE, '--compactions', '--json']);
  expect(jsonLines(stdout).map(({ run_id, turn }) => `${run_id as string}/${turn as number}`)).toEqual([
    'run-1/5',
    'run-1/9',
    'run-1/10',
    'run-3/2',
  ]);
  const before = await refold(['explain', FILE, '--compactions', '--at', '12']);
  expect([before.code, before.stdout]).toEqual([0, expect.stringContaining('no compaction was owed')]);
  expect((await refold(['explain', FILE, '--compactions', '--turn', '5'])).code).toBe(2);
});
