import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { Misuse, parseSecrets, readFirstLine, readOptions } from '../../../bridge/process/options.ts';

const needed = ['--url', 'http://127.0.0.1:1', '--token-file', 't', '--workspace', 'w', '--provider', 'api'];

describe('the command line', () => {
  test('has defaults for all options that are not required', () => {
    expect(readOptions(needed, {})).toMatchObject({
      sandbox: 'auto',
      provider: 'api',
      api: 'openai-chat',
      exitWithParent: false,
    });
  });

  test('reads the concurrency from the environment unless it is given', () => {
    const env = { CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY: '7' };
    expect(readOptions(needed, env).concurrency).toBe(7);
    expect(readOptions([...needed, '--concurrency', '3'], env).concurrency).toBe(3);
  });

  test.each([
    [['--provider', 'api'], '--url'],
    [[...needed, '--sandbox', 'jail'], '--sandbox'],
    [[...needed, '--provider', 'recorded'], '--recording'],
    [[...needed, '--concurrency', '0'], 'concurrency'],
    [[...needed, '--owner', 'two words'], '--owner'],
    [[...needed, '--session', '-x y'], 'session'],
    [[...needed, '--bogus'], 'bogus'],
  ])('%j is misuse', (args, message) => {
    expect(() => readOptions(args, {})).toThrow(Misuse);
    expect(() => readOptions(args, {})).toThrow(message);
  });
});

describe('secrets', () => {
  test('are one line, whether or not the stream stays open', async () => {
    const open = new PassThrough();
    open.write('{"A":');
    open.write('"x"}\nmore');
    expect(parseSecrets(await readFirstLine(open))).toEqual({ A: 'x' });
    const closed = new PassThrough();
    closed.end('{"A":"y"}');
    expect(parseSecrets(await readFirstLine(closed))).toEqual({ A: 'y' });
  });

  test('are read correctly from chunks that split characters', async () => {
    const stream = new PassThrough();
    for (const byte of Buffer.from('{"A":"clé 🔑"}\n')) stream.write(Buffer.of(byte));
    expect(parseSecrets(await readFirstLine(stream))).toEqual({ A: 'clé 🔑' });
  });

  test.each(['', '[]', '{"A":1}', 'sk-secret'])('%j is refused without being repeated', (line) => {
    expect(() => parseSecrets(line)).toThrow(/one line of JSON/);
    expect(() => parseSecrets(line)).not.toThrow(/sk-secret/);
  });
});
