// A bridge in a process of its own, against an engine over HTTP: `bridge-process URL TOKEN-FILE [MARKS-FILE]`. Prints
// one JSON object a line: that it is ready, when a session's first and last generate were handed out, and with a marks
// file the first sign of progress of each session. With marks, tools take a while, and calls that may not be repeated
// leave a line in that file.
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { systemClock } from '../bridge/clock.ts';
import type { BridgeLogLine } from '../bridge/log.ts';
import { runBridge } from '../bridge/loop.ts';
import { brand } from '../schemas/ids.ts';
import { connect } from '../src/client/index.ts';
import { benchExecutors, benchProvider, markingExecutors, markingProvider } from './actors.ts';
import type { ChildLine } from './processes.ts';

const [url = '', tokenFile = '', marksFile] = process.argv.slice(2);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.stdin.resume().once('end', () => stop.abort());

const nowMs = (): number => performance.timeOrigin + performance.now();
const print = (line: ChildLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const seen = new Set<string>();
function noteProgress(line: BridgeLogLine): void {
  if (line.event !== 'call_settled' && line.event !== 'generate_settled') return;
  if (seen.has(line.session_id)) return;
  seen.add(line.session_id);
  print({ event: 'progress', session: line.session_id, at_ms: nowMs() });
}

const client = connect(url, (await readFile(tokenFile, 'utf8')).trim());
print({ event: 'ready' });
await runBridge({
  client,
  owner: brand(`bench-${process.pid}`),
  clock: systemClock,
  random: Math.random,
  signal: stop.signal,
  ...(marksFile === undefined
    ? {
        executors: benchExecutors(),
        provider: benchProvider((session, which) => print({ event: 'turns', session, which, at_ms: nowMs() })),
        log: () => undefined,
      }
    : {
        executors: markingExecutors((name) => appendFileSync(marksFile, `${name}\n`)),
        provider: markingProvider(),
        log: noteProgress,
      }),
});
await client.close();
