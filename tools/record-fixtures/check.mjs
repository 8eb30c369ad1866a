// Fails when a kind of ingress event occurs in no recorded session.
//   npm run fixtures:check [-- FOLDER]
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newestRules } from '../../dist/reducers/rules/known-rules.js';
import { INGRESS_KINDS } from '../../dist/schemas/index.js';

const folder = process.argv[2] ?? fileURLToPath(new URL('../../replay-fixtures/', import.meta.url));
const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const sessionsOf = new Map(INGRESS_KINDS.map((kind) => [kind, new Set()]));
for (const { name } of names) {
  const lines = readFileSync(join(folder, name, 'session.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  const events = lines.map((line) => JSON.parse(line)).flatMap((record) => record.events ?? []);
  for (const { kind } of events) sessionsOf.get(kind)?.add(name);
}

/** Rules can be adopted only when there are later ones than the first. */
const isPossible = (kind) => kind !== 'RulesAdopted' || newestRules().rules > 1;
const possible = INGRESS_KINDS.filter(isPossible);
const missing = possible.filter((kind) => sessionsOf.get(kind).size === 0);
for (const [kind, sessions] of sessionsOf) {
  const none = isPossible(kind) ? 'MISSING' : 'not possible yet: there is one rule set';
  process.stdout.write(`${kind.padEnd(20)} ${sessions.size === 0 ? none : [...sessions].join(' ')}\n`);
}
const covered = possible.length - missing.length;
process.stdout.write(`${covered} of ${possible.length} kinds in ${names.length} sessions\n`);
if (missing.length > 0) {
  process.stdout.write(`Record a session with ${missing.join(', ')}: CONTRIBUTING.md, "Record a fixture".\n`);
}
process.exitCode = missing.length === 0 ? 0 : 1;
