// A bridge in a separate process, with an engine over HTTP: `bridge-process URL TOKEN-FILE [MARKS-FILE]`. Prints one JSON
// object a line: that it is ready, and when it received the first and the last generate of a session. With a marks file it
// also prints when it received the first work of each session and when the first call settled; tools then take some time,
// and each call that may not be repeated appends a line to the file.
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { systemClock } from '../src/clock.ts';
import type { BridgeLogLine } from '../bridge/log.ts';
import { noBridgeLedger, openBridgeLedger } from '../bridge/ledger/bridge-ledger.ts';
import { openLedgerDirectory } from '../bridge/ledger/ledger-disk.ts';
import { isAlive, processTagOf } from '../src/files/process-tag.ts';
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

const noted = { begun: new Set<string>(), settled: new Set<string>() };

/** Notes when this bridge first receives work of a session, and when the first call of it has settled. */
function noteProgress(line: BridgeLogLine): void {
  if (line.event === 'generate_started' || line.event === 'call_started') noteOnce('begun', line.session_id);
  else if (line.event === 'call_settled') noteOnce('settled', line.session_id);
}

function noteOnce(what: keyof typeof noted, session: string): void {
  if (noted[what].has(session)) return;
  noted[what].add(session);
  print({ event: what, session, at_ms: nowMs() });
}

const client = connect(url, (await readFile(tokenFile, 'utf8')).trim());
print({ event: 'ready' });
const owner = brand<'OwnerId'>(`bench-${process.pid}`);
const tag = processTagOf(process.pid);
await runBridge({
  client,
  owner,
  // With marks this bridge will be killed, so it keeps a ledger for its successor as every bridge does.
  ledger:
    marksFile === undefined
      ? noBridgeLedger
      : await openBridgeLedger(await openLedgerDirectory(`${marksFile}.state`), {
          owner,
          nonce: 'bench',
          tag,
          isAlive,
        }),
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
