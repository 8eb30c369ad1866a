// Runs inside each runtime: loads a bundle, folds the sessions and prints the answer as one line of JSON.
//   child.mjs BUNDLE SESSIONS plain|poisoned
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [bundle, sessions, world] = process.argv.slice(2);
const { run } = await import(pathToFileURL(bundle).href);
const answer = run(JSON.parse(readFileSync(sessions, 'utf8')), world === 'poisoned');
process.stdout.write(`${JSON.stringify(answer)}\n`);
