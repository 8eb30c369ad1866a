import { describe, expect, test } from 'vitest';
import { recordedProvider } from '../../../bridge/providers/recorded.ts';
import { chatRequestOf } from '../../support/bridge/chat-server.ts';

const { signal } = new AbortController();

describe('a recording', () => {
  const provider = recordedProvider(
    [
      '{"turn":1,"content":"I look.","calls":[{"name":"read_file","arguments":{"path":"a"}}],"delay_ms":900}',
      '',
      '{"turn":2,"calls":[{"id":"x","name":"grep","arguments_text":"{bad"}],"usage":{"input_tokens":1,"output_tokens":2}}',
      '',
    ].join('\n'),
  );

  test('is replayed by the number of the turn within the run, in any run', async () => {
    const one = { content: 'I look.', calls: [{ name: 'read_file', arguments: { path: 'a' } }] };
    expect(await provider.generate(chatRequestOf({ turn: 1 }), signal)).toEqual(one);
    expect(await provider.generate(chatRequestOf({ turn: 1, run_id: 'run-2' as never }), signal)).toEqual(one);
    expect(await provider.generate(chatRequestOf({ turn: 2 }), signal)).toEqual({
      calls: [{ id: 'x', name: 'grep', arguments_text: '{bad' }],
      usage: { input_tokens: 1, output_tokens: 2 },
    });
  });

  test('fails as exhausted after its last turn', async () => {
    await expect(provider.generate(chatRequestOf({ turn: 3 }), signal)).rejects.toMatchObject({
      code: 'recording_exhausted',
    });
  });

  test('fails a cancelled request as cancelled', async () => {
    await expect(provider.generate(chatRequestOf(), AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
  });

  test.each([
    ['{"turn":1}\n{"turn":1}', 'line 2: turn 1 appears twice'],
    ['{"turn":1}\n{turn:2}', 'line 2'],
    ['{"turn":0}', 'line 1: at "/turn"'],
    ['{"turn":1,"calls":[{}]}', 'line 1: at "/calls/0/name"'],
    ['{"turn":1,"call":[]}', 'line 1: at "/call"'],
  ])('%j is refused with the line and the path of the fault', (text, message) => {
    expect(() => recordedProvider(text)).toThrow(message);
  });
});
