// How long requests hold the event loop, beside how long an idle loop of the same process is held meanwhile: other
// processes of the machine hold it too.
import { type Agent, request as send } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { TOKEN } from '../engine/serving.ts';
import type { HostileRequest } from './request.ts';

/** The longest time that the loop was held while `work` ran, in milliseconds. */
export async function heldBy(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await wait(2);
  delay.reset();
  await work();
  // The histogram learns of the last hold when its timer fires after it.
  await wait(2);
  delay.disable();
  return delay.max / 1e6;
}

/** Sends a request as it is, and reads its reply to the end; the status, or 0 when the connection was closed. */
export function sendHostile(agent: Agent, port: number, { method, path, headers, body, follows }: HostileRequest): Promise<number> {
  const parts = body === undefined ? [] : Array.isArray(body) ? (body as readonly Buffer[]) : [body as Buffer];
  const length = parts.length === 1 ? { 'content-length': String(parts[0]?.length ?? 0) } : {};
  return new Promise((resolve) => {
    const outgoing = send(
      { agent, host: '127.0.0.1', port, method, path, headers: { authorization: `Bearer ${TOKEN}`, ...length, ...headers } },
      (response) => {
        const status = response.statusCode ?? 0;
        response.on('close', () => resolve(status));
        if (follows === true && status === 200) setTimeout(() => response.destroy(), 5);
        response.resume();
      },
    );
    outgoing.on('error', () => resolve(0));
    for (const part of parts) outgoing.write(part);
    outgoing.end();
  });
}
