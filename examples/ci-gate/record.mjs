// Records a session of the agent with its real tools: node examples/ci-gate/record.mjs [FILE]
// In production, the log is there already: refold export SESSION -o sessions/NAME.jsonl
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { scriptedProvider } from 'refold/bridge';
import { consent, shop, tool_package } from './agent.mjs';
import { runSession } from './run-session.mjs';

const turns = [
  [{ id: 'a', name: 'look_up_order', arguments: { order: '42' } }],
  [{ id: 'b', name: 'refund_order', arguments: { order: '42' } }],
  [],
];
const provider = scriptedProvider(({ turn }) => ({ content: `turn ${turn}`, calls: turns[turn - 1] ?? [] }));
const input = { text: 'Refund order 42' };
const session = { session_id: 'refund', tool_package, consent, input, provider, executor: shop };
const { records } = await runSession(session);
const file = process.argv[2] ?? fileURLToPath(new URL('sessions/refund.jsonl', import.meta.url));
await writeFile(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
console.log(`recorded ${file}`);
