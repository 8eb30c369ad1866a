// A fork of large events is stored in several writes, bounded in bytes.
import { expect, test } from 'vitest';
import { APPEND_BYTES_MAX } from '../../schemas/limits.ts';
import { brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { SESSION, newWorld, packageOf } from '../support/engine/world.ts';
import { tool } from '../support/tools.ts';

test('a fork writes when the bytes of an append have come together', async () => {
  const { talk, engine, disk } = await newWorld();
  const tools = Array.from({ length: 100 }, (_, index) => tool(`t${index}`, { description: 'x'.repeat(8_000) }));
  await talk.create(packageOf(tools));
  const times = Math.ceil((1.2 * APPEND_BYTES_MAX) / (100 * 8_000));
  for (let time = 0; time < times; time += 1) {
    await talk.submit([{ kind: 'ToolRegistrySet', registry: tools } as never]);
  }
  const appends = (): number => disk.calls.filter((name) => name === 'append').length;
  const before = appends();
  await must(engine.client.fork(SESSION, { session_id: brand<'SessionId'>('forked') }));
  expect(appends() - before).toBeGreaterThanOrEqual(2);
  const { state } = await must(engine.client.session(brand<'SessionId'>('forked')));
  expect(state.version).toBeGreaterThanOrEqual(times);
});
