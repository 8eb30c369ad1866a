// Reads one large answer and prints how much memory that took: node answer-process.js <line|body> <bytes>
import type { MemoryTaken } from './processes.ts';
import { largeAnswer, readAsBridge } from './large-answers.ts';

const [shape, bytes] = process.argv.slice(2);

await readAsBridge(largeAnswer('body', 4_096, true));
const answer = largeAnswer(shape === 'line' ? 'line' : 'body', Number(bytes), true);
const before = process.resourceUsage().maxRSS;
await readAsBridge(answer);
const taken: MemoryTaken = { mb: ((process.resourceUsage().maxRSS - before) * 1_024) / 1_000_000 };
process.stdout.write(`${JSON.stringify(taken)}\n`);
