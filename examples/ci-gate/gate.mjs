// The gate: does the agent, as it is now, still decide what recorded sessions decided, and get the same results?
//   node examples/ci-gate/gate.mjs [SESSION.jsonl …]     exits 1 when a session differs
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { recordedTools, scriptedProvider } from 'refold/bridge';
import { newReplayer, newRunResults } from 'refold/core';
import { consent, tool_package } from './agent.mjs';
import { runSession } from './run-session.mjs';

const cli = fileURLToPath(new URL('../cli/main.js', import.meta.resolve('refold/client')));
const folder = fileURLToPath(new URL('sessions/', import.meta.url));
const given = process.argv.slice(2);
const files = given.length > 0 ? given : readdirSync(folder).map((name) => join(folder, name));
const faults = [...whatIf(files), ...(await Promise.all(files.map(again))).flat()];
for (const fault of faults) console.log(fault);
console.log(faults.length === 0 ? `sessions: ${files.length}, nothing changed` : `${faults.length} changes`);
process.exitCode = faults.length === 0 ? 0 : 1;

/** Every recorded turn, judged and planned again with the tools and the policy of today. */
function whatIf(sessions) {
  const work = mkdtempSync(join(tmpdir(), 'gate-'));
  try {
    writeFileSync(join(work, 'tools.json'), JSON.stringify(tool_package));
    writeFileSync(join(work, 'policy.json'), JSON.stringify(consent));
    const alternative = ['--registry', join(work, 'tools.json'), '--policy', join(work, 'policy.json')];
    execFileSync(process.execPath, [cli, 'whatif', ...alternative, ...sessions], { encoding: 'utf8', cwd: work });
    return [];
  } catch (error) {
    return [`decisions differ:\n${error.stdout ?? ''}${error.stderr ?? error.message}`];
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** The first run of the session once more: the recorded model, the recorded tools, the engine and the agent of today. */
async function again(file) {
  const { input, turns, results: then } = recordingOf(file);
  const provider = scriptedProvider(({ turn }) => turns[turn - 1] ?? null);
  const executor = await recordedTools(file, { tools: ['*'] });
  const { results: now } = await runSession({ session_id: 'again', tool_package, consent, input, provider, executor });
  const length = Math.max(then.length, now.length);
  return Array.from({ length }, (_, index) => [shown(then[index]), shown(now[index])])
    .filter(([before, after]) => before !== after)
    .map(([before, after]) => `${file}:\n  was ${before}\n  is  ${after}`);
}

function recordingOf(file) {
  const results = newRunResults('run-1');
  const turns = [];
  let input = null;
  const replayer = newReplayer((folded) => {
    const { event } = folded;
    results.add(folded);
    if (event.kind === 'RunRequested') input ??= event.input;
    if (event.kind !== 'ToolCallsObserved' || event.run_id !== 'run-1') return;
    const calls = event.calls.map(({ call_id: id, tool_name: name, arguments: args }) => ({
      id,
      name,
      arguments: args,
    }));
    turns.push({ calls, ...(event.content === undefined ? {} : { content: event.content.text }) });
  });
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) replayer.add(JSON.parse(line));
  return { input, turns, results: results.result() };
}

function shown(result) {
  if (result === undefined) return 'no call';
  const { call, turn, status, code, output } = result;
  return `turn ${turn} ${call.tool_name} ${JSON.stringify(call.arguments)}: ${status} ${code ?? ''} ${JSON.stringify(output)}`;
}
