// The recorded demo, run again by a real engine and bridge: its calls are answered from its log.
import { expect, test } from 'vitest';
import { combineExecutors, recordedProvider, recordedTools, runBridge, systemClock } from '../../../bridge/index.ts';
import { type CallResult, newRunResults } from '../../../src/core/index.ts';
import { brand } from '../../../schemas/ids.ts';
import { openMemoryBlobs } from '../../../src/blobs/memory-blobs.ts';
import { must, resultsOf, waitForRun } from '../../../src/client/index.ts';
import { startEngine } from '../../../src/engine/engine.ts';
import { openMemoryJournal } from '../../../src/journal/memory-journal.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { type StreamRecord, decodeStreamRecord } from '../../../schemas/record.ts';
import { mustBe } from '../../../src/client/must.ts';
import { foldedIn } from '../../audit/records.ts';
import { eventsOf } from '../../support/records.ts';
import { readDocument } from '../../support/documents.ts';

const DEMO = 'replay-fixtures/demo/session.jsonl';
const RUN = brand<'RunId'>('run-1');

const shown = ({ call, status, code, output, turn }: CallResult) => [turn, call.tool_name, status, code, output];

test('a session of host tools runs to its end, with the recorded results', async () => {
  const lines = (await readDocument(DEMO)).trim().split('\n');
  const records: readonly StreamRecord[] = lines.map((line) => mustBe(decodeStreamRecord(JSON.parse(line))));
  const recorded = newRunResults(RUN);
  for (const folded of foldedIn(records)) recorded.add(folded);
  const [tools, genesis] = records;
  const [asked] = eventsOf(records);
  if (tools?.kind !== 'package' || genesis?.kind !== 'genesis' || asked?.kind !== 'RunRequested') {
    throw new Error('the export does not begin with a tool package, a genesis record and a run');
  }

  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const { client } = engine;
  const stop = new AbortController();
  const { config } = genesis.genesis;
  const consent = CONSENT_PRESETS.allow_all;
  const { session_id } = await must(client.createSession({ tool_package: tools.tool_package, consent, config }));
  const bridge = runBridge({
    client,
    owner: brand<'OwnerId'>('recorded'),
    provider: recordedProvider(await readDocument('replay-fixtures/demo/turns.jsonl')),
    executors: combineExecutors([await recordedTools(DEMO, { tools: ['*'] })]),
    clock: systemClock,
    random: Math.random,
    log: () => undefined,
    signal: stop.signal,
  });
  const { v: _v, at_ms: _at, ...request } = asked;
  await must(client.submit(session_id, { events: [request] }));
  await waitForRun(client, session_id, RUN);
  const now = await resultsOf(client, session_id, RUN);
  // Outputs in blobs are not in an export.
  const held = recorded
    .result()
    .map((result, index) => ({ result, index }))
    .filter(({ result }) => 'text' in (result.output ?? {}));
  expect(held.length).toBeGreaterThan(10);
  expect(held.map(({ index }) => shown(now[index] as CallResult))).toEqual(held.map(({ result }) => shown(result)));
  stop.abort();
  await bridge;
  await engine.close();
});
