// One hostile request, and what a case of the corpus needs to make its requests.
import { countMarks } from '../../../schemas/json/json-scan.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import type { EngineClient } from '../../../src/client/client.ts';

export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body; several parts are sent as chunks. */
  readonly body?: Buffer | readonly Buffer[];
  /** Ends the reply, which never ends by itself, after its first bytes. */
  readonly follows?: boolean;
}

/** A served engine with sessions to attack. What these functions do is not measured. */
export interface Target {
  readonly client: EngineClient;
  /** A new session whose first run waits for the answer of the model. */
  readonly generating: (tools?: readonly ToolSpec[]) => Promise<string>;
  /** A new session whose model made these calls. */
  readonly called: (tools: readonly ToolSpec[], calls: readonly object[]) => Promise<string>;
}

export interface HostileCase {
  readonly name: string;
  readonly requests: (target: Target) => Promise<readonly HostileRequest[]>;
}

export const JSON_TYPE = { 'content-type': 'application/json' } as const;

export const post = (path: string, body: string | object): HostileRequest => ({
  method: 'POST',
  path,
  headers: JSON_TYPE,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});

export const get = (path: string, headers: Readonly<Record<string, string>> = {}): HostileRequest => ({
  method: 'GET',
  path,
  headers,
});

export const eventsOf = (session: string): string => `/v1/sessions/${session}/events`;

export const submitOf = (session: string, ...events: readonly object[]): HostileRequest =>
  post(eventsOf(session), { events });

export const observed = (calls: readonly object[]): object => ({
  kind: 'ToolCallsObserved',
  run_id: 'run-1',
  turn: 1,
  calls,
});

/** `count` values of `make`, as long as their JSON fits a body. */
export function upTo<T>(
  count: number,
  most: { readonly bytes: number; readonly marks: number },
  make: (index: number) => T,
): readonly T[] {
  const values: T[] = [];
  let [bytes, marks] = [0, 0];
  for (let index = 0; index < count; index += 1) {
    const value = make(index);
    const text = JSON.stringify(value);
    bytes += text.length + 1;
    marks += countMarks(text) + 1;
    if (bytes > most.bytes || marks > most.marks) break;
    values.push(value);
  }
  return values;
}
