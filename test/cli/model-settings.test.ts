import { expect, test } from 'vitest';
import { modelSettings } from '../../src/cli/model-settings.ts';

test('the options become fields of the config, and nothing else does', () => {
  expect(modelSettings({ parallelCalls: true, workspace: '.' })).toEqual({});
  expect(
    modelSettings({
      toolChoice: 'required',
      parallelCalls: false,
      reasoning: 'high',
      temperature: '0.5',
      contextMark: '150000',
    }),
  ).toEqual({
    tool_choice: 'required',
    parallel_calls: false,
    reasoning: { effort: 'high' },
    temperature: 0.5,
    context: { mark: 150_000 },
  });
  expect(modelSettings({ toolChoice: 'read_file' })).toEqual({ tool_choice: { tool: 'read_file' } });
});

test.each([
  [{ temperature: 'warm' }, '--temperature: must be'],
  [{ temperature: '2.5' }, '--temperature: must be'],
  [{ reasoning: 'much' }, '--reasoning: must be'],
  [{ toolChoice: 'no tool!' }, '--tool-choice: must be'],
  [{ contextMark: '1.5' }, '--context-mark: must be'],
])('%j is refused with the option and what it takes', (options, message) => {
  expect(() => modelSettings(options)).toThrow(message);
});
