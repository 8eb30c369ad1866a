// The explanation of a turn: why the model stopped, what was kept of it, its compaction, its failures, how the run ended.
import { stripVTControlCharacters } from 'node:util';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { StreamRecord } from '../../schemas/index.ts';
import { type TurnExplanation, explainTurn } from '../../src/core/index.ts';
import { turnLines } from '../../src/shown/turn-lines.ts';
import { ROOT, jsonLines, refold } from '../support/e2e/refold.ts';

const fileOf = (fixture: string): string => join(ROOT, `replay-fixtures/${fixture}/session.jsonl`);

/** The turns with a number in a recorded session, by run. */
async function explained(fixture: string, turn: number): Promise<Readonly<Record<string, TurnExplanation>>> {
  const lines = (await readFile(fileOf(fixture), 'utf8')).trimEnd().split('\n');
  const turns = explainTurn(
    lines.map((line) => JSON.parse(line) as StreamRecord),
    turn,
  );
  return Object.fromEntries(turns.map((found) => [found.run_id, found]));
}

/** The lines for people, without times and colours, from the one that begins with this word. */
function linesOf(turn: TurnExplanation | undefined, ...words: readonly string[]): readonly string[] {
  const lines = turn === undefined ? [] : turnLines(turn).map((line) => stripVTControlCharacters(line));
  return lines
    .filter((line) => words.includes(line.trim().split(' ')[0] ?? ''))
    .map((line) => line.trim().replaceAll(/ \d{4}-\d\d-\d\dT[\d:.]+Z/g, ''));
}

describe('a turn that the model answered', () => {
  test('is explained with its stop, its layout and its tokens', async () => {
    const { 'run-1': turn } = await explained('model-turns', 1);
    expect(turn).toMatchObject({
      turn: 1,
      began: { position: 0 },
      compaction: null,
      failures: [],
      answer: {
        position: 1,
        calls: 1,
        has_text: true,
        stop: { reason: 'calls', word: 'tool_use' },
        layout: { api: 'anthropic.messages', model: 'claude-x-1' },
        usage: { cached_tokens: 60, cache_write_tokens: 10, reasoning_tokens: 5 },
      },
      ending: null,
    });
    expect(linesOf(turn, 'stopped', 'layout', 'tokens')).toEqual([
      'stopped    calls ("tool_use"): it waits for the results of its calls',
      `layout     kept for anthropic.messages, model claude-x-1, ${turn?.answer?.layout?.bytes} bytes; no other API is sent it`,
      'tokens     90 tokens in (60 cached, 10 written to the cache), 20 out (5 thinking)',
    ]);
  });

  test.each([
    ['run-3', 'length', 'output_truncated'],
    ['run-4', 'filtered', 'content_filtered'],
    ['run-5', 'refusal', 'model_refused'],
  ])('of %s is explained with %s, which ended the run with %s', async (run, reason, code) => {
    const { [run]: turn } = await explained('model-turns', 1);
    expect(turn).toMatchObject({ answer: { stop: { reason } }, ending: { outcome: 'failed', code } });
    expect(linesOf(turn, 'run')).toEqual([expect.stringContaining(`failed (${code}): `)]);
  });
});

describe('a turn before which the conversation was to be compacted', () => {
  test('is explained with the mark that was passed, and the summary', async () => {
    const { 'run-1': turn } = await explained('compaction', 5);
    expect(turn?.compaction).toMatchObject({
      owed: { position: 12 },
      cause: 'mark',
      mark: 100,
      used: 101,
      failures: [],
      summary: { position: 14, entries: 9, usage: { input_tokens: 80, output_tokens: 20 } },
    });
    expect(linesOf(turn, 'compacted', 'summary')).toEqual([
      'compacted  because the last answer took 101 tokens, and the mark is 100; owed since position 12',
      'summary    position 14: it stands for 9 messages, for 80 tokens in, 20 out',
    ]);
  });

  test('is explained with the failures, of which the last left the conversation as it was', async () => {
    const { 'run-1': turn } = await explained('compaction', 9);
    expect(turn?.compaction?.failures.map(({ code, again }) => [code, again])).toEqual([
      ['provider_retryable', true],
      ['provider_retryable', false],
    ]);
    expect(turn).toMatchObject({ failures: [{ code: 'context_length', again: false }], answer: null, ending: null });
    expect(linesOf(turn, 'summary', 'answered')).toEqual([
      'summary    none: the conversation stays as it was',
      'answered   not in this turn',
    ]);
  });

  test('because it was too long is explained so, and ends the run when there is no summary', async () => {
    expect((await explained('compaction', 10))['run-1']?.compaction).toMatchObject({
      cause: 'context_length',
      summary: { entries: 18 },
    });
    const { 'run-3': failed } = await explained('compaction', 2);
    expect(failed).toMatchObject({
      compaction: { cause: 'context_length', failures: [{ code: 'no_summary', again: false }], summary: null },
      ending: { outcome: 'failed', code: 'context_length' },
    });
    expect(linesOf(failed, 'compacted')).toEqual([
      'compacted  because the model said that the conversation is too long; owed since position 48',
    ]);
  });
});

describe('refold explain --turn', () => {
  test('prints that turn of each run', async () => {
    const { stdout } = await refold(['explain', fileOf('compaction'), '--turn', '5', '--json']);
    expect(jsonLines(stdout).map(({ run_id, turn, at }) => [run_id, turn, at])).toEqual([
      ['run-1', 5, 50],
      ['run-2', 5, 50],
    ]);
  });

  test('fails when there is no such turn after so many events', async () => {
    const { code, stderr } = await refold(['explain', fileOf('compaction'), '--turn', '5', '--at', '12']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('contain no turn 5')]);
    expect((await refold(['explain', fileOf('compaction'), '--turn', '5', '--at', '13'])).code).toBe(0);
  });

  test('is not given with a call', async () => {
    expect((await refold(['explain', fileOf('compaction'), '--turn', '5', '--call', 'c1'])).code).toBe(2);
  });
});
