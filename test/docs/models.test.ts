// What docs/models.md says about servers, stop reasons and failures is what the code does; its commands work as printed.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { PROVIDER_ERROR_CODES } from '../../bridge/providers/provider.ts';
import { Stop } from '../../schemas/model-turn.ts';
import { MODEL_SERVERS } from '../../src/files/model-servers.ts';
import { given, say } from '../../src/testing/index.ts';
import { CLI, freshDirectory } from '../support/e2e/refold.ts';
import { readDocument } from '../support/documents.ts';
import { openModelServer } from '../support/providers/model-server.ts';

const page = await readDocument('docs/models.md');

const section = (title: string): string => page.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

/** The cells of the rows of the table in a section, without its head. */
const rowsOf = (title: string): readonly (readonly string[])[] =>
  section(title)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.slice(2, -2).split(' | '));

const names = (cell = ''): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

test('the table of servers is that of the code', () => {
  const known = Object.entries(MODEL_SERVERS).map(([api, server]) => [
    [api],
    server.baseUrl === null ? [] : [server.baseUrl],
    [server.baseUrlVariable],
    server.keyVariables,
    [server.modelVariable, ...(server.model === null ? [] : [server.model])],
  ]);
  expect(rowsOf('Servers').map((row) => row.map((cell) => names(cell)))).toEqual(known);
});

test('the table of stop reasons names each reason once, and the code that it fails a run with', () => {
  const rows = rowsOf('Why a model stopped').map(([reasons, what]) => [names(reasons), names(what)] as const);
  const reasons = rows.flatMap(([named]) => named);
  expect(reasons.filter((reason) => !Stop.is({ reason }))).toEqual([]);
  expect(reasons.toSorted()).toEqual(['calls', 'end', 'filtered', 'length', 'other', 'paused', 'refusal']);
  for (const [named, [code = null]] of rows) {
    for (const reason of named) {
      const run = given([{ kind: 'RunRequested', input: say('go') }]).and({
        kind: 'ToolCallsObserved',
        run_id: 'run-1',
        turn: 1,
        calls: [],
        content: say('so far'),
        stop: { reason: reason as Stop['reason'] },
      }).state;
      const ending = run.run_history[0]?.ending;
      expect([ending?.code ?? null, run.run?.turn ?? null], `stopped for ${reason}`).toEqual([
        code,
        reason === 'paused' ? 2 : null,
      ]);
      expect(ending?.output ?? null, `stopped for ${reason}`).toEqual(reason === 'paused' ? null : { text: 'so far' });
    }
  }
});

test('the table of failures names the codes of a server', () => {
  const ours = new Set(['recording_exhausted', 'cancelled']);
  const codes = rowsOf('Failures and retries').flatMap(([code]) => names(code));
  expect(codes.toSorted()).toEqual(PROVIDER_ERROR_CODES.filter((code) => !ours.has(code)).toSorted());
});

test('the commands for a local server work as printed', async () => {
  const server = await openModelServer();
  const answer = {
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Nothing.' } }],
  };
  const headers = { 'content-type': 'application/json' };
  server.answer({ status: 200, headers, body: JSON.stringify(answer) });
  const [, printed = ''] = /<!-- example: local model -->\n```sh\n([^]*?)```/.exec(page) ?? [];
  expect(printed.trimEnd().split('\n')).toHaveLength(3);
  // The port is that of a server which is there, and `npx` runs what is built here.
  const script = printed
    .replace('http://127.0.0.1:11434', server.url)
    .replaceAll('npx refold', `"${process.execPath}" "${CLI}"`);
  const cwd = await freshDirectory();
  const { OPENAI_API_KEY: _key, ...inherited } = process.env;
  const env = { ...inherited, NO_COLOR: '1', REFOLD_DATA_DIR: `${cwd}/data` };
  const { stdout } = await promisify(execFile)('sh', ['-e', '-c', script], { cwd, env });
  await server.close();
  expect(server.asked.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  expect(JSON.parse(server.asked[0]?.body ?? '')).toMatchObject({ model: 'qwen3:8b' });
  expect(stdout).toContain('Nothing.');
  expect(stdout).toMatch(/completed.*What is in this folder\?/);
});
