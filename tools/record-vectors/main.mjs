// Records test/vectors/: exported sessions, good and altered, with the verdicts that every verifier owes (docs/format.md, "Test
// vectors"). The same sources give the same bytes.
//
//   npm run vectors              writes the folder anew
//   … main.mjs --check           writes nothing; names every file that differs, and exits with 1
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkpointFiles, checkpointsOfPlain, headsOfPlain } from './checkpoints.mjs';
import { fields } from './fields.mjs';
import { good } from './good.mjs';
import { order } from './order.mjs';
import { recordsOf } from './stream.mjs';
import { endOf } from './sessions.mjs';
import { values } from './values.mjs';

const FOLDER = fileURLToPath(new URL('../../test/vectors/', import.meta.url));
const KEPT = new Set(['README.md']);

const vectors = [...good(), ...fields(), ...order(), ...values()].map((vector) =>
  vector.file === 'good/plain.jsonl' ? { ...vector, heads: headsOfPlain(), checkpoints: checkpointsOfPlain() } : vector,
);

/** A verdict, with what a verifier prints where it is `ok`. */
function completed({ verdict, ...rest }, { content }) {
  if (verdict !== 'ok') return { verdict, ...rest };
  const last = recordsOf(content.toString()).at(-1);
  return { verdict, events: endOf(last), chain: last.chain };
}

const listed = vectors.map((vector) => {
  const { file, about, with_fold, without_fold, heads, checkpoints } = vector;
  return {
    file,
    about,
    with_fold: completed(with_fold, vector),
    without_fold: completed(without_fold, vector),
    ...(heads.length === 0 ? {} : { heads }),
    ...(checkpoints.length === 0 ? {} : { checkpoints }),
  };
});

const files = new Map([
  ...vectors.map(({ file, content }) => [file, content]),
  ...checkpointFiles().map(([file, text]) => [file, Buffer.from(text)]),
  ['vectors.json', Buffer.from(`{"vectors":[\n${listed.map((vector) => JSON.stringify(vector)).join(',\n')}\n]}\n`)],
]);

const stored = existsSync(FOLDER)
  ? readdirSync(FOLDER, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(FOLDER.length))
      .filter((file) => !KEPT.has(file))
  : [];

function check() {
  const differing = [...files].filter(([file, content]) => !sameAs(file, content)).map(([file]) => file);
  for (const file of [...differing, ...stored.filter((name) => !files.has(name))]) {
    process.stdout.write(`${file} DIFFERS; npm run vectors records the folder anew\n`);
    process.exitCode = 1;
  }
}

const sameAs = (file, content) => existsSync(FOLDER + file) && readFileSync(FOLDER + file).equals(content);

function write() {
  for (const file of stored) if (!files.has(file)) rmSync(FOLDER + file);
  for (const [file, content] of files) {
    mkdirSync(dirname(FOLDER + file), { recursive: true });
    writeFileSync(FOLDER + file, content);
  }
  const bytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  process.stdout.write(`${vectors.length} vectors, ${files.size} files, ${bytes} bytes\n`);
}

if (process.argv.includes('--check')) check();
else write();
