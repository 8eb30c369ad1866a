// Fails when a kind of ingress event occurs in no recorded session.
//   npm run fixtures:check [-- FOLDER]
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INGRESS_KINDS } from '../../dist/schemas/index.js';

const folder = process.argv[2] ?? fileURLToPath(new URL('../../replay-fixtures/', import.meta.url));
const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const sessionsOf = new Map(INGRESS_KINDS.map((kind) => [kind, new Set()]));
for (const { name } of names) {
  const [, ...lines] = readFileSync(join(folder, name, 'session.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  for (const line of lines) sessionsOf.get(JSON.parse(line).event.kind)?.add(name);
}

const missing = INGRESS_KINDS.filter((kind) => sessionsOf.get(kind).size === 0);
for (const [kind, sessions] of sessionsOf) {
  process.stdout.write(`${kind.padEnd(20)} ${sessions.size === 0 ? 'MISSING' : [...sessions].join(' ')}\n`);
}
const covered = INGRESS_KINDS.length - missing.length;
process.stdout.write(`${covered} of ${INGRESS_KINDS.length} kinds in ${names.length} sessions\n`);
if (missing.length > 0) {
  process.stdout.write(`Record a session with ${missing.join(', ')}: CONTRIBUTING.md, "Record a fixture".\n`);
}
process.exitCode = missing.length === 0 ? 0 : 1;
