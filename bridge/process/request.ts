// The entry point of a process that writes the request of a recorded answer again, for `refold request`: the dialects belong to
// the bridge. It reads one line of JSON, {"effect","exchange"}, and prints one.
import { parseArgs } from 'node:util';
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { Effect } from '../../schemas/effect.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { Exchange } from '../../schemas/model-turn.ts';
import { connect } from '../../src/client/index.ts';
import { readToken } from '../../src/client/token-file.ts';
import { whatFailed } from '../../src/files/file-failure.ts';
import { type RecordedAnswer, rebuildRequest } from '../generate/rebuild-request.ts';

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { url: text, 'token-file': text }, strict: true });
  const answer = recordedAnswer(await readAll(process.stdin));
  const client = connect(values.url ?? '', await readToken(values['token-file'] ?? ''));
  try {
    print(await rebuildRequest(answer, { read: (ref) => client.getBlob(ref)() }));
  } finally {
    await client.close();
  }
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString('utf8');
}

function recordedAnswer(line: string): RecordedAnswer {
  const value: unknown = JSON.parse(line);
  const effect = decode(Effect, isPlainObject(value) ? value['effect'] : null);
  if (isLeft(effect)) throw new TypeError(effect.left.message);
  const { right: owed } = effect;
  if (owed.kind !== 'llm.generate' && owed.kind !== 'llm.compact') {
    throw new TypeError('effect must be a generate or a compaction');
  }
  const exchange = isPlainObject(value) ? value['exchange'] : undefined;
  return Exchange.is(exchange) ? { effect: owed, exchange } : { effect: owed };
}

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

try {
  await main();
} catch (error) {
  print({ failed: whatFailed(error) });
  process.exitCode = 1;
}
