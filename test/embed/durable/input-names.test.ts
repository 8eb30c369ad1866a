import { expect, test } from 'vitest';
import { newInputNames } from '../../../embed/ai-sdk/stream-parts.ts';

test('arguments that are shown while they arrive have the ids of their calls, those of the provider keep theirs', () => {
  const rename = newInputNames((index) => `run-1-1-${index}`);
  const shown = [
    { type: 'tool-input-start', id: 'x' },
    { type: 'tool-input-delta', id: 'x' },
    { type: 'tool-input-start', id: 's', providerExecuted: true },
    { type: 'tool-input-end', id: 's' },
    { type: 'tool-input-start', id: 'x' },
    { type: 'tool-input-end', id: 'x' },
    { type: 'text-start', id: 'x' },
  ].map((part) => rename(part)['id']);
  expect(shown).toEqual(['run-1-1-0', 'run-1-1-0', 's', 's', 'run-1-1-1', 'run-1-1-1', 'x']);
});
