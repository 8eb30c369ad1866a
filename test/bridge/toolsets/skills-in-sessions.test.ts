// Skills in a session: a real engine, a bridge with real folders and a real sandbox, and a scripted model. What a session is told, when
// it may use it, and what happens when files change.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hostExecutor } from '../../../bridge/executors/host-executor.ts';
import { type Skills, openSkills } from '../../../bridge/toolsets/open-skills.ts';
import { skillExecutor } from '../../../bridge/executors/skill-executor.ts';
import { combineExecutors } from '../../../bridge/executors/executors.ts';
import { runBridge } from '../../../bridge/loop.ts';
import type { BridgeLogLine } from '../../../bridge/log.ts';
import type { GenerateRequest, ReplyCall } from '../../../bridge/providers/provider.ts';
import { scriptedProvider } from '../../../bridge/providers/scripted.ts';
import { BRIDGE } from '../../../schemas/access.ts';
import { type SessionId, brand } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { openMemoryBlobs } from '../../../src/blobs/memory-blobs.ts';
import { must, resultsOf, waitForRun } from '../../../src/client/index.ts';
import { withAccess } from '../../../src/client/with-access.ts';
import { systemClock } from '../../../src/clock.ts';
import { startEngine } from '../../../src/engine/engine.ts';
import { openMemoryJournal } from '../../../src/journal/memory-journal.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { makeHost } from '../../support/host/workspace.ts';
import { skillText, temporaryDirectory, writeFiles } from '../../support/skills/skill-folders.ts';

const COMMAND =
  'run: [sh, go.sh]\ninput_schema:\n  type: object\n  additionalProperties: false\n  properties:\n    name: {type: string}\n';

type Turn = readonly (readonly [tool: string, args: JsonObject])[];

/** An engine and a bridge with the skills of a directory; the model makes these calls, turn by turn, in each run. */
async function world(root: string, trust: 'first' | null, turns: readonly Turn[]) {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const { client } = engine;
  const host = await makeHost({});
  const requests: GenerateRequest[] = [];
  const log: BridgeLogLine[] = [];
  const skills: Skills = await openSkills({
    directories: [root],
    trust,
    clock: systemClock,
    onFaults: () => undefined,
  });
  const stop = new AbortController();
  const bridge = runBridge({
    client: withAccess(client, BRIDGE),
    owner: brand<'OwnerId'>('bridge'),
    provider: scriptedProvider((request) => {
      requests.push(request);
      const calls = turns[request.turn - 1] ?? [];
      return {
        text: 'ok',
        calls: calls.map(([name, args], index): ReplyCall => ({
          id: `c${request.turn}-${index}`,
          name,
          arguments: args,
        })),
      };
    }),
    executors: combineExecutors([hostExecutor(host), skillExecutor({ skills, host })]),
    toolsets: [skills],
    clock: systemClock,
    random: Math.random,
    log: (line) => void log.push(line),
    signal: stop.signal,
  });
  onTestFinished(async () => {
    stop.abort();
    await bridge;
    await skills.close();
    await host.end();
    await engine.close();
  });
  const { session_id } = await must(client.createSession({ consent: CONSENT_PRESETS.allow_all }));
  let runs = 0;
  return {
    client,
    skills,
    log,
    requests,
    session_id,
    state: async () => (await must(client.session(session_id))).state,
    run: async () => {
      runs += 1;
      const run = brand<'RunId'>(`run-${runs}`);
      requests.length = 0;
      await must(client.submit(session_id, { events: [{ kind: 'RunRequested', input: { text: 'go' } }] }));
      await waitForRun(client, session_id, run);
      return (await resultsOf(client, session_id, run)).map(({ call, code, output }) => ({
        tool: call.tool_name,
        code,
        text: output !== null && output !== undefined && 'text' in output ? output.text : '',
      }));
    },
    approve: async () => {
      const { toolsets } = (await must(client.session(session_id))).state;
      const tools = toolsets?.['skill']?.tools ?? {};
      await must(client.submit(session_id, { events: [{ kind: 'ToolsetApproved', toolset: 'skill', tools }] }));
    },
  };
}

const offeredTo = ({ tools }: GenerateRequest): readonly string[] =>
  tools.map(({ tool_name }): string => tool_name).filter((name) => name.startsWith('skill'));

function greeting(root: string): void {
  writeFiles(root, { 'greet/SKILL.md': skillText('greet', COMMAND), 'greet/go.sh': 'cat; echo good\n' });
}

test('with the trust "first", the first turn of a session offers the skills, and they run', async () => {
  const root = temporaryDirectory();
  greeting(root);
  const { run, requests, state } = await world(root, 'first', [
    [['open_session', {}]],
    [
      ['skills_read', { name: 'greet' }],
      ['skill__greet', { name: 'you' }],
    ],
  ]);
  const results = await run();
  const readers = ['skills_list', 'skills_read', 'skills_search'];
  expect(requests.slice(0, 2).map((request) => offeredTo(request).toSorted())).toEqual([
    readers,
    // Which runs in the host session that the first turn opens.
    ['skill__greet', ...readers],
  ]);
  expect(results.slice(1).map(({ text }) => text)).toEqual([
    expect.stringContaining('How to use greet.'),
    expect.stringContaining('{"name":"you"}good'),
  ]);
  expect(Object.keys((await state()).toolsets?.['skill']?.pins ?? {})).toHaveLength(4);
});

test('arguments that do not fit the schema of a skill do not reach it', async () => {
  const root = temporaryDirectory();
  greeting(root);
  const { run } = await world(root, 'first', [[['open_session', {}]], [['skill__greet', { nme: 'you' }]]]);
  expect((await run())[1]).toMatchObject({ code: 'tool_invalid_args' });
});

test('without trust, no skill is offered until an operator approves', async () => {
  const root = temporaryDirectory();
  greeting(root);
  const { run, approve, requests } = await world(root, null, [[['open_session', {}]], []]);
  await run();
  expect(requests.map(offeredTo)).toEqual([[], []]);
  await approve();
  await run();
  expect(offeredTo(requests[0] as GenerateRequest)).toContain('skills_read');
});

test('a changed skill is out, with the tools that read skills, until it is approved; another skill stays', async () => {
  const root = temporaryDirectory();
  greeting(root);
  writeFiles(root, { 'other/SKILL.md': skillText('other', COMMAND), 'other/go.sh': 'echo other\n' });
  const { run, approve, requests, skills, log } = await world(root, 'first', [
    [['open_session', {}]],
    [['skill__greet', {}]],
  ]);
  await run();
  writeFiles(root, { 'greet/go.sh': 'echo changed\n' });
  await skills.refresh();
  const [, refused] = await run();
  expect(log.filter(({ event }) => event === 'toolset_set')).toHaveLength(2);
  expect(offeredTo(requests[0] as GenerateRequest)).toEqual(['skill__other']);
  expect(refused).toMatchObject({ code: 'tool_unavailable', text: expect.stringContaining('definition_changed') });
  await approve();
  expect((await run())[1]?.text).toContain('[stdout]\nchanged');
});

test('a session is told once, and a bridge that is started again tells it nothing that it has', async () => {
  const root = temporaryDirectory();
  greeting(root);
  const { run, log, client, session_id, skills } = await world(root, 'first', [[], []]);
  await run();
  await run();
  await skills.refresh();
  const events = async (id: SessionId): Promise<number> => {
    let count = 0;
    for (const record of await must(client.records(id)))
      if (record.kind === 'commit') count += record.events.filter(({ kind }) => kind === 'ToolsetSet').length;
    return count;
  };
  expect(log.filter(({ event }) => event === 'toolset_set')).toHaveLength(1);
  expect(await events(session_id)).toBe(1);
});

test('a directory whose skills are all gone leaves no tool', async () => {
  const root = temporaryDirectory();
  greeting(root);
  const { run, state, skills } = await world(root, 'first', [[], []]);
  await run();
  rmSync(join(root, 'greet'), { recursive: true });
  await skills.refresh();
  await run();
  expect((await state()).toolsets?.['skill']?.tools).toEqual({});
});

test('a skill whose schema the engine refuses is left out, and hurts no other', async () => {
  const root = temporaryDirectory();
  greeting(root);
  writeFiles(root, {
    'bad/SKILL.md': skillText('bad', COMMAND.replace('name: {type: string}', 'name: {type: nothing}')),
  });
  const { run, log, requests } = await world(root, 'first', [[['open_session', {}]], []]);
  await run();
  expect(log.find(({ event }) => event === 'toolset_refused')).toMatchObject({
    toolset: 'skill',
    code: 'registry_invalid',
    message: expect.stringContaining('skill__bad'),
  });
  expect(offeredTo(requests[1] as GenerateRequest)).toHaveLength(4);
});

test('a toolset that another owner set is refused, and the run goes on', async () => {
  const root = temporaryDirectory();
  greeting(root);
  const { run, log, client, session_id, requests } = await world(root, 'first', [[], []]);
  const other = { kind: 'ToolsetSet', toolset: 'skill', owner: brand<'OwnerId'>('other'), tools: [] } as const;
  await must(client.submit(session_id, { events: [other] }));
  await run();
  expect(requests).toHaveLength(1);
  expect(log.filter(({ event }) => event === 'toolset_refused')).toMatchObject([{ code: 'toolset_owned' }]);
});
