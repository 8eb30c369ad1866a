// Serves an engine over HTTP, starts the bridge in Python, and runs one session: node examples/bridge-over-http/main.mjs
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { fixedTokens, openMemoryBlobs, openMemoryJournal, serve, startEngine } from 'refold';
import { must, resultsOf, waitForRun } from 'refold/client';
import { defineTool } from 'refold/schemas';

const countLetters = defineTool({
  tool_id: 'words.count_letters',
  tool_name: 'count_letters',
  description: 'Count the letters of a word.',
  input_schema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  mode: 'safe_write',
  destructive: false,
});
const tool_package = {
  registry: [countLetters],
  profiles: [{ profile_id: 'words', tool_ids: [countLetters.tool_id] }],
  provider_profiles: [{ provider_contains: '', profile_id: 'words' }],
};

const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
const token = randomBytes(32).toString('hex');
const serving = await serve(engine.client, { tokens: fixedTokens({ bridge: token }), port: 0 });
const python = spawn('python3', [fileURLToPath(new URL('bridge.py', import.meta.url))], {
  env: { ...process.env, REFOLD_URL: serving.url, REFOLD_TOKEN: token },
  stdio: 'inherit',
});
python.once('error', ({ message }) => {
  console.error(`python3 cannot be started: ${message}; install Python 3.9 or newer`);
  process.exit(1);
});
try {
  const { client } = engine;
  const config = { provider: 'python', model: 'script' };
  const { session_id } = await must(client.createSession({ session_id: 'letters', tool_package, config }));
  await must(client.submit(session_id, { events: [{ kind: 'RunRequested', input: { text: 'How many letters?' } }] }));
  const { run_id, ending } = await waitForRun(client, session_id, undefined, { signal: AbortSignal.timeout(20_000) });
  for (const { call, status, output } of await resultsOf(client, session_id, run_id)) {
    console.log(`${call.tool_name} ${JSON.stringify(call.arguments)}: ${status}, ${output?.text}`);
  }
  console.log(`${ending.outcome}: ${ending.output?.text}`);
} finally {
  python.kill();
  await serving.close();
  await engine.close();
}
