// A bridge that dies in the middle of each call: what became of the call is unknown to everyone.
import { workerData } from 'node:worker_threads';
import { combineExecutors, runBridge, systemClock } from '../../dist/bridge/index.js';
import { connect } from '../../dist/src/client/index.js';

const { url, token, owner } = workerData;
await runBridge({
  client: connect(url, token),
  owner,
  executors: combineExecutors([{ tools: ['suite.protocol_error_job'], run: () => process.exit() }]),
  provider: { generate: () => Promise.reject(new Error('no model is asked')) },
  toolsOnly: true,
  clock: systemClock,
  random: Math.random,
  log: () => undefined,
  signal: new AbortController().signal,
});
