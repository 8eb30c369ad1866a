// Folds a file with the bundle of the page's worker in this Node, and prints how long it took, in milliseconds.
//
//   node fold-in-node.mjs WORKER FILE
import { openAsBlob } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [worker, path] = process.argv.slice(2);
const hearers = [];
let tell;
const done = new Promise((resolve) => (tell = resolve));

// What a worker of a browser has of its scope.
globalThis.addEventListener = (_type, hear) => void hearers.push(hear);
globalThis.postMessage = ({ news }) => {
  if (news?.kind === 'fold' && news.done) tell(news);
};
await import(pathToFileURL(worker).href);

const file = await openAsBlob(path);
const from = performance.now();
for (const hear of hearers) {
  hear({ data: { number: 1, ask: 'open', given: { kind: 'file', name: 'long', file } } });
}
const { folded } = await done;
process.stdout.write(`${JSON.stringify({ ms: performance.now() - from, folded })}\n`);
