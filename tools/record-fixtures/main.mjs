// Records the sessions of replay-fixtures/ (all but demo/, which demo.mjs records). They are golden files: an existing one
// is not overwritten without `--force`, and a change of its bytes needs a reason.
//
//   npm run build && node tools/record-fixtures/main.mjs [--force | --check] [name…]
//
// --check writes nothing and fails when a session would differ from the stored one.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as attachments from './attachments.mjs';
import * as batches from './batches.mjs';
import * as consent from './consent.mjs';
import * as everyPart from './every-part.mjs';
import * as modelTurns from './model-turns.mjs';
import * as previews from './previews.mjs';
import * as rules from './rules.mjs';
import * as runs from './runs.mjs';
import * as toolSets from './tool-sets.mjs';
import * as toolsets from './toolsets.mjs';
import * as undo from './undo.mjs';

const FOLDER = fileURLToPath(new URL('../../replay-fixtures/', import.meta.url));

const { values, positionals } = parseArgs({
  options: { force: { type: 'boolean' }, check: { type: 'boolean' } },
  allowPositionals: true,
});
let refused = 0;
const MODULES = [runs, toolSets, batches, undo, consent, everyPart, rules, modelTurns, attachments, previews, toolsets];
for (const record of MODULES.flatMap((module) => Object.values(module))) {
  const session = record();
  const name = session.state.session_id;
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const file = `${FOLDER}${name}/session.jsonl`;
  if (values.check === true) {
    const same = existsSync(file) && readFileSync(file, 'utf8') === session.text;
    process.stdout.write(`${name}: ${same ? 'the same' : 'DIFFERS'}\n`);
    if (!same) process.exitCode = 1;
    continue;
  }
  if (existsSync(file) && values.force !== true) {
    process.stderr.write(`${name}: exists; --force records it again\n`);
    refused += 1;
    continue;
  }
  mkdirSync(`${FOLDER}${name}`, { recursive: true });
  writeFileSync(file, session.text);
  process.stdout.write(`${name}: ${session.events} events, ${session.text.length} characters\n`);
}
if (refused > 0) process.exitCode = 1;
