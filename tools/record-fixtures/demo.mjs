// Records replay-fixtures/demo/: a run of `refold demo` in a temporary directory, exported. Ids and times differ from one
// recording to the next.
//
//   npm run build && node tools/record-fixtures/demo.mjs
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const refold = (...args) => execFileSync(process.execPath, [at('dist/src/cli/main.js'), ...args], { encoding: 'utf8' });

const data = mkdtempSync(join(tmpdir(), 'refold-recording-'));
try {
  const lines = refold('demo', '--json', '--data-dir', data).trimEnd().split('\n');
  const { session_id, workspace, events } = JSON.parse(lines.at(-1));
  writeFileSync(at('replay-fixtures/demo/session.jsonl'), refold('export', session_id, '--data-dir', data));
  rmSync(dirname(workspace), { recursive: true });
  process.stdout.write(`demo: ${events} events\n`);
} finally {
  rmSync(data, { recursive: true });
}
