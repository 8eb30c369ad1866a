// What a released rule set decides and writes never changes, and neither do the life cycles. `npm run golden:rules` writes
// the file anew; a commit that changes it says why.
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../schemas/json.ts';
import { compareRules, recordedRules } from '../support/rules/compare-rules.ts';

const GOLDEN = new URL('../golden/rules.json', import.meta.url);

const now = recordedRules();
if (process.env['REFOLD_WRITE_GOLDEN'] === '1') writeFileSync(GOLDEN, `${JSON.stringify(now, null, 1)}\n`);
const golden = JSON.parse(readFileSync(GOLDEN, 'utf8')) as JsonObject;

test('every rule set decides and writes what the golden file has', () => {
  const { breaking, added } = compareRules(golden, now);
  expect(breaking).toEqual([]);
  expect(added, 'record what is new: npm run golden:rules').toEqual([]);
});

/** The golden record with one part of it changed; undefined removes it. */
function changed(path: readonly string[], value: Json | undefined): JsonObject {
  const copy = structuredClone(golden) as Record<string, Json>;
  const last = path.at(-1) as string;
  const parent = path.slice(0, -1).reduce((at, key) => at[key] as Record<string, Json>, copy);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

describe('a change of what a session folds to is found', () => {
  test.each<[string, readonly string[], Json | undefined]>([
    ['one word of a text', ['rules 1', 'texts', 'tool_disabled'], 'The tool "{name}" is off.'],
    ['a text that is gone', ['rules 1', 'texts', 'forked'], undefined],
    ['the tool that reads files', ['rules 1', 'shellReads', 'reads', 'readText', 'tool_id'], 'host.fs.cat'],
    ['an argument of a read', ['rules 1', 'shellReads', 'reads', 'readText', 'names', 'path'], 'file'],
    ['the tool that runs commands', ['rules 1', 'shellReads', 'commands', 'effect_kind'], 'host.run'],
    ['what is found for a command', ['rules 1', 'alternatives', '["ls src"]'], null],
    [
      'what is found for a command that had nothing',
      ['rules 1', 'alternatives', '["pwd"]'],
      { tool_id: 'host.fs.pwd' },
    ],
    ['a workflow more', ['rules 1', 'workflows'], ['permissions.check', 'permissions.describe', 'clock.now']],
    ['the version of a rule set', ['rules 1', 'since'], '0.3.0'],
    ['a rule set that is gone', ['rules 1'], undefined],
    ['a transition of a call', ['life cycles', 'calls', 'running', 'LeaseExpired'], ['queued']],
    ['a transition of a call that is new', ['life cycles', 'calls', 'failed', 'ToolCallStarted'], ['running']],
    ['a transition of a run', ['life cycles', 'runs', 'idle', 'RunRequested'], ['generating']],
    ['a transition of a run that is gone', ['life cycles', 'runs', 'executing', 'RunPaused'], undefined],
    ['the phases', ['life cycles', 'phases'], ['idle']],
    ['a kind that the phase of the run decides about', ['life cycles', 'bound', 'UndoRequested'], true],
  ])('%s', (_, path, value) => {
    const [at = ''] = compareRules(golden, changed(path, value)).breaking.map((found) => found.at);
    expect(at === '' ? 'nothing' : `/${path.join('/')}`.startsWith(at) || at.startsWith(`/${path.join('/')}`)).toBe(
      true,
    );
    const [found] = compareRules(golden, changed(path, value)).breaking;
    expect(found?.what).toMatch(/make it in a new rule set/);
  });
});

describe('what no recorded session can contain is new, and has to be recorded', () => {
  test.each<[string, readonly string[], Json]>([
    ['a rule set', ['rules 2'], golden['rules 1'] as Json],
    ['a text', ['rules 1', 'texts', 'not_written_before'], 'Something new.'],
    ['a command of the corpus', ['rules 1', 'alternatives', '["cat new.md"]'], null],
    ['a new kind of event', ['life cycles', 'bound', 'SessionRenamed'], false],
    ['a row for a new kind of event', ['life cycles', 'runs', 'idle', 'SessionRenamed'], ['idle']],
  ])('%s', (_, path, value) => {
    const { breaking, added } = compareRules(golden, changed(path, value));
    expect({ breaking, added }).toEqual({ breaking: [], added: [{ at: `/${path.join('/')}`, what: 'is new' }] });
  });
});
