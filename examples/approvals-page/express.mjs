// Approvals in an Express server: what a session does as server-sent events, and answers to the calls that wait.
import { once } from 'node:events';
import { watch } from 'refold/client';

export function addApprovals(app, agent) {
  app.get('/sessions/:session/events', async (req, res) => {
    const stop = new AbortController();
    res.on('close', () => stop.abort());
    res.setHeader('content-type', 'text/event-stream');
    res.setHeader('cache-control', 'no-cache');
    const last = req.headers['last-event-id']; // a browser sends it when it connects again
    const options = { signal: stop.signal, ...(last === undefined ? {} : { from: Number(last) }) };
    for await (const { version, status, waiting, questions } of watch(agent.client, req.params.session, options)) {
      const isTaken = res.write(`id: ${version}\ndata: ${JSON.stringify({ status, waiting, questions })}\n\n`);
      if (!isTaken) await once(res, 'drain', { signal: stop.signal });
    }
    res.end();
  });
  app.post('/sessions/:session/calls/:call', async (req, res) => {
    const { batch, digest, allow } = req.body; // express.json()
    await agent.answer({ ...req.params, batch, digest }, allow === true);
    res.status(204).end();
  });
  app.use((error, _req, res, _next) => {
    if (res.headersSent) res.end();
    else res.status(error.name === 'NotWaiting' ? 409 : 500).send(error.message);
  });
}
