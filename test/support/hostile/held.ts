// How long requests hold the event loop.
import { readFileSync } from 'node:fs';
import { type Agent, request as send } from 'node:http';
import { TOKEN } from '../engine/serving.ts';
import type { HostileRequest } from './request.ts';

/**
 * The longest time that the event loop was held while `work` ran, in milliseconds: what this thread ran in the longest turn
 * of its loop. Time in which the machine ran something else instead does not count.
 */
export async function heldBy(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = ranMs();
  const look = (): void => {
    const now = ranMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  await work();
  look();
  clearInterval(timer);
  return longest;
}

/** How long this thread has run, by the kernel's account. */
const ranMs = (): number => Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;

/** Sends a request as it is, and reads its reply to the end; the status, or 0 when the connection was closed. */
export function sendHostile(agent: Agent, port: number, request: HostileRequest): Promise<number> {
  const { method, path, body = [], follows = false } = request;
  const parts = Buffer.isBuffer(body) ? [body] : body;
  const length = parts.length === 1 ? { 'content-length': String(parts[0]?.length ?? 0) } : {};
  const headers = { authorization: `Bearer ${TOKEN}`, ...length, ...request.headers };
  return new Promise((resolve) => {
    const outgoing = send({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      const status = response.statusCode ?? 0;
      response.once('close', () => resolve(status));
      if (follows && status === 200) response.once('data', () => response.destroy());
      // A session without events sends nothing to read.
      if (follows) setTimeout(() => response.destroy(), FOLLOWED_MS).unref();
      response.resume();
    });
    outgoing.once('error', () => resolve(0));
    for (const part of parts) outgoing.write(part);
    outgoing.end();
  });
}

const FOLLOWED_MS = 50;
