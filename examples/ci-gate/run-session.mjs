// Runs one session in memory, with a model and an executor; people allow every call. Returns its records and results.
import { openMemoryBlobs, openMemoryJournal, startEngine } from 'refold';
import { combineExecutors, runBridge, systemClock } from 'refold/bridge';
import { must, resultsOf, waitForRun, watch } from 'refold/client';

export async function runSession({ session_id, tool_package, consent, input, provider, executor }) {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const { client } = engine;
  const stop = new AbortController();
  const { signal } = stop;
  try {
    await must(
      client.createSession({ session_id, tool_package, consent, config: { provider: 'recorded', model: 'recorded' } }),
    );
    const executors = combineExecutors([executor]);
    const world = { clock: systemClock, random: Math.random, log() {}, signal };
    const bridge = runBridge({ client, owner: 'ci-gate', executors, provider, ...world });
    const people = allowAll(client, session_id, signal);
    await must(client.submit(session_id, { events: [{ kind: 'RunRequested', input }] }));
    const { run_id } = await waitForRun(client, session_id);
    const results = await resultsOf(client, session_id, run_id);
    const records = await must(client.records(session_id));
    stop.abort();
    await Promise.all([bridge, people]);
    return { results, records };
  } finally {
    stop.abort();
    await engine.close();
  }
}

async function allowAll(client, session, signal) {
  for await (const { waiting } of watch(client, session, { signal })) {
    for (const { batch_id, call_id, arguments_digest } of waiting) {
      const answer = { kind: 'user.tool_confirmation', batch_id, call_id, arguments_digest, result: 'allow' };
      // Two items may show the same question; the second answer is refused, and changes nothing.
      await client.submit(session, { events: [answer] })();
    }
  }
}
