// Skills and a catalog with the built program: real processes, real folders, a recorded model.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type RecordedTurn,
  type Started,
  freshDirectory,
  jsonLines,
  refold,
  refoldBuilt,
  start,
  writeRecording,
} from '../support/e2e/refold.ts';
import { skillText, writeFiles } from '../support/skills/skill-folders.ts';

const COMMAND = 'run: [sh, go.sh]\ninput_schema: {type: object, properties: {name: {type: string}}}\n';
const call = (id: string, name: string, args: object = {}) => ({ id, name, arguments: args });

let home: string;
let workspace: string;
let data: string;
let engine: Started;

beforeAll(async () => {
  [home, workspace] = [await freshDirectory(), await freshDirectory(true)];
  data = join(home, 'data');
  await writeFile(join(home, 'bash.json'), await readFile('docs/bash-catalog.json'));
  writeFiles(workspace, {
    '.refold/skills/greet/SKILL.md': skillText('greet', COMMAND),
    '.refold/skills/greet/go.sh': 'cat; echo hello from a skill\n',
  });
  engine = await start(['serve', '--data-dir', data, '--port', '0', '--catalog', join(home, 'bash.json')]);
});
afterAll(() => engine.kill());

/** Runs a recorded model in the workspace; the session and the results of its calls, by call id. */
async function run(turns: readonly RecordedTurn[], ...more: readonly string[]) {
  const recording = await writeRecording(home, turns);
  const args = ['run', 'go', '--workspace', workspace, '--recording', recording, '--data-dir', data, '--yes', '--json'];
  const ran = await refoldBuilt([...args, ...more], { OPENAI_MODEL: undefined });
  const results = new Map<string, string>();
  const listed = jsonLines((await refold(['sessions', '--data-dir', data, '--json'])).stdout);
  // They are listed by id, and ids begin with the time.
  const ids = listed.map(({ session_id }) => String(session_id)).toSorted();
  const session = ids.at(-1) ?? '';
  const exported = await refold(['events', session, '--data-dir', data, '--json']);
  for (const line of jsonLines(exported.stdout)) {
    const event = (line['event'] ?? line) as Record<string, unknown>;
    if (event['kind'] !== 'ToolCallSettled') continue;
    results.set(String(event['call_id']), String((event['output'] as { text?: string } | undefined)?.text));
  }
  return { ...ran, session, results };
}

test('a run has the skills of its workspace and the catalog of its engine from its first turn on', async () => {
  const { code, results, session, stderr } = await run(
    [
      { calls: [call('a', 'open_session'), call('b', 'skills_read', { name: 'greet' })] },
      {
        calls: [
          call('c', 'skill__greet', { name: 'you' }),
          call('d', 'bash', { command: 'echo a | tr a b' }),
          call('e', 'read_file', { path: '.refold/skills/greet/go.sh' }),
          call('f', 'bash', { command: 'ls -A .refold/skills 2>&1; echo x > .refold/skills/greet/go.sh' }),
        ],
      },
      { content: 'done' },
    ],
    '--skills-trust',
    'first',
  );
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  expect(results.get('b')).toContain('How to use greet.');
  expect(results.get('c')).toContain('{"name":"you"}hello from a skill');
  expect(results.get('d')).toContain('[stdout]\nb\n');
  // No tool reaches the files of a skill, and no command sees them.
  expect(results.get('e')).toMatch(/^error: |forbidden/);
  expect(results.get('f')).not.toContain('greet\n');
  expect(await readFile(join(workspace, '.refold/skills/greet/go.sh'), 'utf8')).toContain('hello from a skill');
  const explained = await refold([
    'catalog',
    'explain',
    'bash',
    '--catalog',
    join(home, 'bash.json'),
    '--session',
    session,
    '--data-dir',
    data,
    '--json',
  ]);
  expect(jsonLines(explained.stdout)[0]).toMatchObject({ effective: true, spec: { tool_name: 'bash' } });
});

test('without trust, the run says that skills wait for approval, and none is used', async () => {
  const { results, stderr } = await run([{ calls: [call('a', 'skills_list')] }, { content: 'done' }]);
  expect(stderr).toContain('refold toolsets approve');
  expect(results.has('a')).toBe(false);
});

test('the engine reads its catalog again when it is asked to, and keeps it when it has faults', async () => {
  const token = (await readFile(join(data, 'tokens', 'operator'), 'utf8')).split('\n')[0] ?? '';
  const reload = async (): Promise<readonly [number, Record<string, unknown>]> => {
    const answer = await fetch(`${String(engine.ready['url'])}/admin/reload-catalog`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    return [answer.status, (await answer.json()) as Record<string, unknown>];
  };
  await writeFile(join(home, 'bash.json'), '{"name": "bash"}');
  expect(await reload()).toMatchObject([422, { code: 'catalog_invalid' }]);
  const bash = JSON.parse(await readFile('docs/bash-catalog.json', 'utf8')) as object;
  await writeFile(join(home, 'bash.json'), JSON.stringify([bash, { ...bash, name: 'line' }]));
  expect((await reload())[0]).toBe(200);
  const { results } = await run([
    { calls: [call('a', 'open_session')] },
    { calls: [call('b', 'line', { command: 'echo two' })] },
    { content: 'done' },
  ]);
  expect(results.get('b')).toContain('two');
});

test('an engine does not start with a catalog that has faults, and names them', async () => {
  await writeFile(join(home, 'bad.json'), '{"name": 5}');
  const args = [
    'serve',
    '--data-dir',
    join(home, 'other'),
    '--port',
    '0',
    '--catalog',
    join(home, 'bad.json'),
    '--json',
  ];
  const { code, stdout } = await refold(args);
  expect(code).toBe(2);
  expect(jsonLines(stdout)[0]).toMatchObject({
    error: { code: 'catalog_invalid', message: expect.stringContaining('/name') },
  });
});
