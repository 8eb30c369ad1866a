// What goes over the wire of a run: the requests can be written again, the responses are evidence, and a cassette of both
// plays the run without the server.
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDirectory, jsonLines, refold, refoldBuilt } from '../support/e2e/refold.ts';
import { type ModelServer, openModelServer } from '../support/providers/model-server.ts';

const KEY = 'sk-recorder-key-of-32-characters';

let server: ModelServer;
beforeAll(async () => {
  server = await openModelServer();
});
afterAll(() => server.close());

const plain = (message: object): { readonly body: string } => ({
  body: JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }] }),
});
const reads = { id: 'r', type: 'function', function: { name: 'read_file', arguments: '{"path":"a.txt"}' } };

/** Prepared answers: a call, a failed attempt that repeats the key, and the end. */
function prepare(): void {
  server.answer(
    plain({ content: 'I read.', tool_calls: [reads] }),
    {
      status: 503,
      body: JSON.stringify({ error: { message: `overloaded for ${KEY}` } }),
      headers: { 'retry-after': '0' },
    },
    plain({ content: 'It says hello.' }),
  );
}

interface Places {
  readonly data: string;
  readonly workspace: string;
}

async function newPlaces(): Promise<Places> {
  const workspace = await freshDirectory(true);
  await writeFile(join(workspace, 'a.txt'), 'hello\n');
  return { data: join(await freshDirectory(), 'data'), workspace };
}

const run = ({ data, workspace }: Places, ...more: readonly string[]) =>
  refoldBuilt(
    ['run', 'read a.txt', '--data-dir', data, '--workspace', workspace, '--sandbox', 'none', '--json', ...more],
    { OPENAI_API_KEY: KEY },
  );

type Line = Readonly<Record<string, unknown>>;

const folded = (stdout: string): readonly Line[] =>
  jsonLines(stdout).flatMap(({ event, record }) => (event === 'folded' ? [(record as { event: Line }).event] : []));

const exchangesIn = (stdout: string): readonly Line[] =>
  folded(stdout).flatMap(({ exchange }) => (exchange === undefined ? [] : [exchange as Line]));

const blobFile = ({ data }: Places, ref: unknown): string => {
  const hex = String(ref).slice('sha256:'.length);
  return join(data, 'blobs', hex.slice(0, 2), hex.slice(2, 4), hex);
};

const sessionOf = (stdout: string): string =>
  String(/"session_id":"([^"]+)"/.exec(stdout)?.[1] ?? /run-1/.exec(stdout)?.[0]);

test('a run is recorded, its requests are written again, its responses verified, and its cassette plays', async () => {
  const places = await newPlaces();
  const cassette = join(places.workspace, '..', `${places.workspace.split('/').at(-1) ?? ''}.cassette`);
  prepare();
  const ran = await run(places, '--base-url', `${server.url}/v1`, '--model', 'm', '--record', cassette);
  expect(ran).toMatchObject({ code: 0 });
  const bodies = server.asked.map(({ body }) => body);
  const { stdout: listed } = await refold(['sessions', '--data-dir', places.data, '--json']);
  const id = sessionOf(listed);

  // Every answer names its request and its response; the failed attempt too, without the key.
  const exchanges = exchangesIn(ran.stdout);
  expect(exchanges).toHaveLength(3);
  const [first, failed] = exchanges;
  expect(failed).toMatchObject({ encoder: 'openai.chat/1', response_redacted: true, target: { model: 'm' } });
  expect(await readFile(blobFile(places, failed?.['response']), 'utf8')).toContain('overloaded for ‹secret›');

  // The request is written again from the log.
  const again = await refold(['request', id, '--turn', '2', '--data-dir', places.data, '--json']);
  expect(again).toMatchObject({ code: 0 });
  expect(jsonLines(again.stdout)[0]).toMatchObject({ comparison: 'equal', body: bodies[2], path: '/chat/completions' });
  const shown = await refold(['request', id, '--turn', '1', '--run', 'run-1', '--data-dir', places.data]);
  expect(shown.stdout).toContain(String(bodies[0]));
  const unknown = await refold(['request', id, '--turn', '9', '--data-dir', places.data]);
  expect(unknown).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no answer of a model in turn 9') as string,
  });

  // The responses are checked where they are there.
  const verified = async (): Promise<{ readonly code: number | null; readonly blobs: unknown }> => {
    const { code, stdout } = await refold(['verify', id, '--data-dir', places.data, '--json']);
    return { code, blobs: jsonLines(stdout)[0]?.['blobs'] };
  };
  expect(await verified()).toMatchObject({ code: 0, blobs: { absent: 0, bad: [] } });
  await rm(blobFile(places, failed?.['response']));
  expect(await verified()).toMatchObject({ code: 0, blobs: { absent: 1, bad: [] } });
  const file = join(await freshDirectory(), 'x.jsonl');
  const exported = await refold(['export', id, '--data-dir', places.data, '-o', file, '--json']);
  expect(jsonLines(exported.stdout)[0]).toMatchObject({ responses: { named: 3, absent: 1 } });
  await writeFile(blobFile(places, first?.['response']), 'tampered');
  expect(await verified()).toMatchObject({
    code: 1,
    blobs: { absent: 1, bad: [{ path: '/event/exchange/response' }] },
  });

  // The cassette holds no key, belongs to its owner, and plays the run without the server.
  const text = await readFile(cassette, 'utf8');
  expect(text).not.toContain(KEY);
  expect((await stat(cassette)).mode & 0o777).toBe(0o600);
  expect(jsonLines(text).map(({ status }) => status)).toEqual([200, 503, 200]);
  const fresh = { ...places, data: join(await freshDirectory(), 'data') };
  const played = await run(fresh, '--model', `recorded:${cassette}`);
  expect(played).toMatchObject({ code: 0 });
  expect(exchangesIn(played.stdout).map(({ request }) => request)).toEqual(exchanges.map(({ request }) => request));
  expect(server.asked).toHaveLength(3);

  // Another file gives another request: its place is named.
  await writeFile(join(places.workspace, 'a.txt'), 'goodbye\n');
  const other = await run({ ...places, data: join(await freshDirectory(), 'data') }, '--recording', cassette);
  expect(other.code).toBe(1);
  expect(other.stdout).toContain('recording_differs');
  expect(other.stdout).toMatch(/differs from line 2 of the cassette at \\"\/messages\/\d+\/content\\"/);
}, 120_000);

test('responses are not kept on request, and --record refuses a file that exists', async () => {
  const places = await newPlaces();
  prepare();
  const ran = await run(places, '--base-url', `${server.url}/v1`, '--model', 'm', '--keep-responses', 'off');
  expect(ran).toMatchObject({ code: 0 });
  for (const exchange of exchangesIn(ran.stdout)) expect(exchange).not.toHaveProperty('response');
  const exists = join(places.workspace, 'a.txt');
  const refused = await run(places, '--base-url', `${server.url}/v1`, '--model', 'm', '--record', exists);
  expect(refused.code).toBe(2);
  expect(refused.stdout + refused.stderr).toContain('the file exists');
}, 60_000);
