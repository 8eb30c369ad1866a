// Many loads at once: a bounded number at a time, and none that holds the event loop from its beginning to its end.
import { expect, test } from 'vitest';
import { canonicalText } from '../../schemas/canonical.ts';
import { brand } from '../../schemas/ids.ts';
import { LOADED_TOGETHER } from '../../schemas/limits.ts';
import { must, mustBe } from '../../src/client/must.ts';
import { defaultGenesis } from '../../src/core/index.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { loadSession } from '../../src/engine/sessions/load-session.ts';
import { newDisk } from '../support/engine/disk.ts';
import { Talk, newWorld, packageOf } from '../support/engine/world.ts';
import { idleHead } from '../support/journal/samples.ts';
import { tool } from '../support/tools.ts';

test('loads wait, in order, while as many as may be loaded together are loaded', async () => {
  const ids = Array.from({ length: 3 * LOADED_TOGETHER }, (_, at) => brand<'SessionId'>(`cold-${at}`));
  const world = await newWorld();
  for (const id of ids) await new Talk(world.engine.client, id).create();
  await world.engine.close();
  const { journal, ...ports } = world.disk.ports();
  const begun: string[] = [];
  const gates: (() => void)[] = [];
  const gated: typeof journal = {
    ...journal,
    genesis: (id) => async () => {
      begun.push(id);
      await new Promise<void>((open) => gates.push(open));
      return await journal.genesis(id)();
    },
  };
  const engine = await must(startEngine({ ...ports, journal: gated, clock: world.clock }));
  const asked = ids.map((id) => must(engine.client.session(id)));
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (let turns = 0; turns < 20; turns += 1) await turn();
  expect(begun).toEqual(ids.slice(0, LOADED_TOGETHER));
  gates.shift()?.();
  await asked[0];
  while (begun.length === LOADED_TOGETHER) await turn();
  expect(begun).toEqual(ids.slice(0, LOADED_TOGETHER + 1));
  while (begun.length < ids.length || gates.length > 0) {
    gates.shift()?.();
    await turn();
  }
  expect((await Promise.all(asked)).map(({ state }) => state.session_id)).toEqual(ids);
  expect(begun).toEqual(ids);
  await engine.close();
});

test('a load asks for a pause before each of its steps', async () => {
  const id = brand<'SessionId'>('s-1');
  const tool_package = packageOf([tool('of_this_session_alone')]);
  const genesis = defaultGenesis({ session_id: id, tool_package });
  const { journal } = newDisk();
  const stored = { digest: genesis.tool_package_digest, text: canonicalText(tool_package) };
  await must(journal.create(id, canonicalText(genesis), stored, idleHead));
  const steps: string[] = [];
  const told: typeof journal = {
    ...journal,
    genesis: (of) => {
      steps.push('genesis');
      return journal.genesis(of);
    },
    toolPackage: (digest) => {
      steps.push('package');
      return journal.toolPackage(digest);
    },
    read: (...range) => {
      steps.push('read');
      return journal.read(...range);
    },
  };
  const pause = async (): Promise<void> => void steps.push('pause');
  mustBe(await loadSession(told, pause, id));
  expect(steps.join(' ')).toMatch(/^genesis( pause)+ package( pause)+ read$/);
});
