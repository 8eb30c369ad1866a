// Programs that are killed: what they do to the world, the places where they are killed, and the sessions that one process runs.
import { appendFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** `afterMs`: when the process is killed, counted from the beginning of the last session; null for not at all. */
const { folder, sessions, place: killedAt, afterMs } = JSON.parse(process.argv[2]);
const dataDir = `${folder}/data`;

export const hints = { find: { mode: 'read' }, refund: { mode: 'safe_write' } };
export const prompt = 'Refund orders a and b';

/**
 * Runs every session of the process at the same time; the last one is killed at the given place. `runSession` gets what
 * belongs to one session, and resolves with what its loop was told.
 */
export async function runSessions(runSession) {
  const arm = await newTimer();
  const last = sessions.length - 1;
  const ends = sessions.map(async (session, index) => {
    const world = worldOf(session, index === last ? killedAt : null);
    if (index === last) arm();
    const from = performance.now();
    const told = await runSession(world);
    process.stdout.write(`${JSON.stringify({ session, told, ms: performance.now() - from })}\n`);
  });
  await Promise.all(ends);
  process.exit(0);
}

function worldOf(session, crashAt) {
  /** Does something that must not happen twice. */
  const act = (line) => appendFileSync(`${folder}/world`, `${session} ${line}\n`);
  /** A place: the process kills itself here when it is told to. */
  const at = (place) => {
    appendFileSync(`${folder}/places`, `${session} ${place}\n`);
    if (place === crashAt) process.kill(process.pid, 'SIGKILL');
  };
  /** The tools of the shop: one that reads, and one whose effect must happen once. */
  const functions = {
    find({ order }) {
      at(`in find ${order}`);
      return { order, cents: 7 };
    },
    refund({ order }) {
      at(`before refund ${order}`);
      act(`refund ${order}`);
      at(`after refund ${order}`);
      return `refunded ${order}`;
    },
  };
  return { dataDir, session, act, at, functions };
}

/** Passes a place as soon as an event of the session is durable, until the signal aborts; answers questions with yes. */
export async function watchSession(agent, { session, at }, signal) {
  const answered = new Set();
  while (!signal.aborted && (await agent.client.session(session)())._tag === 'Left') await new Promise(setImmediate);
  for await (const { position, events } of agent.client.followCommits(session, { signal })) {
    for (const index of events.keys()) at(`event ${position + index}`);
    for (const question of await agent.waiting()) {
      if (answered.has(question.call)) continue;
      answered.add(question.call);
      at(`asked ${question.tool} ${question.arguments.order}`);
      await agent.answer(question, true).catch(() => undefined);
      at(`answered ${question.tool} ${question.arguments.order}`);
    }
  }
}

/** Kills the process from another thread, at an instant that has nothing to do with what this one does. */
async function newTimer() {
  if (afterMs === null) return () => undefined;
  const armed = new Int32Array(new SharedArrayBuffer(4));
  const code = `const { armed, afterMs } = require('node:worker_threads').workerData;
    Atomics.wait(armed, 0, 0);
    Atomics.wait(armed, 0, 1, afterMs);
    process.kill(process.pid, 'SIGKILL');`;
  const worker = new Worker(code, { eval: true, workerData: { armed, afterMs } });
  await new Promise((resolve) => {
    worker.once('online', resolve);
  });
  return () => {
    Atomics.store(armed, 0, 1);
    Atomics.notify(armed, 0);
  };
}
