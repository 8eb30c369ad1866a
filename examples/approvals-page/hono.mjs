// Approvals in a Hono server: what a session does as server-sent events, and answers to the calls that wait.
import { streamSSE } from 'hono/streaming';
import { watch } from 'refold/client';

export function addApprovals(app, agent) {
  app.get('/sessions/:session/events', (c) =>
    streamSSE(c, async (stream) => {
      const stop = new AbortController();
      stream.onAbort(() => stop.abort());
      const last = c.req.header('last-event-id'); // a browser sends it when it connects again
      const options = { signal: stop.signal, ...(last === undefined ? {} : { from: Number(last) }) };
      for await (const seen of watch(agent.client, c.req.param('session'), options)) {
        const { version, status, waiting, questions } = seen;
        await stream.writeSSE({ id: String(version), data: JSON.stringify({ status, waiting, questions }) });
      }
    }),
  );
  app.post('/sessions/:session/calls/:call', async (c) => {
    const { batch, digest, allow } = await c.req.json();
    await agent.answer({ ...c.req.param(), batch, digest }, allow === true);
    return c.body(null, 204);
  });
  app.onError((error, c) => c.text(error.message, error.name === 'NotWaiting' ? 409 : 500));
}
