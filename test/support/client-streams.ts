// Client streams as tests read them: the projection of a recorded stream, and what must hold of any of them.
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { StreamRecord } from '../../schemas/record.ts';
import { type StreamedEvent, clientEvents } from '../../src/core/index.ts';
import { foldedIn } from '../audit/records.ts';

export const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);

export const fixtureRecords = (folder: string): readonly StreamRecord[] =>
  readFileSync(new URL(`${folder}/session.jsonl`, FIXTURES), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StreamRecord);

export const projected = (records: readonly StreamRecord[]): readonly StreamedEvent[] =>
  foldedIn(records).flatMap(clientEvents);

/** The text of each block as a client puts it together: what is open is begun anew by another start. */
export function textsOf(events: readonly StreamedEvent[]): readonly unknown[] {
  const texts: unknown[] = [];
  let open: unknown[] = [];
  for (const item of events) {
    if (item.event === 'content_block_start' && item.data.block_type === 'text') open = [];
    if (item.event === 'text_delta') open.push(item.data.text);
    if (item.event === 'content_block_stop' && item.data.block_type === 'text')
      texts.push(open.every((part) => typeof part === 'string') ? open.join('') : open);
  }
  return texts;
}

type Step = readonly [what: 'open' | 'close', name: string];

/** Opens and closes things by name; none is opened while it is open, or closed while it is not. Returns those left open. */
function openAfter(steps: Iterable<Step>): ReadonlySet<string> {
  const open = new Set<string>();
  for (const [what, name] of steps) {
    expect(open.has(name), `${what} ${name}`).toBe(what === 'close');
    if (what === 'open') open.add(name);
    else open.delete(name);
  }
  return open;
}

export interface OpenInStream {
  readonly calls: readonly string[];
  readonly questions: ReadonlySet<string>;
  readonly runs: ReadonlySet<string>;
}

/**
 * Checks a whole stream: ids rise, each call has one result, each question one answer at most, and each run one beginning and
 * one end. Returns what is still open.
 */
export function checkStream(events: readonly StreamedEvent[]): OpenInStream {
  const ids = events.map(({ id = '' }) => id.split('.').map(Number));
  const order = ids.map(([position = -1, number = Number.MAX_SAFE_INTEGER]) => [position, number] as const);
  for (const [index, [position, number]] of order.slice(1).entries()) {
    const [before, last] = order[index] as readonly [number, number];
    expect(position > before || (position === before && number > last), `id ${events[index + 1]?.id}`).toBe(true);
  }
  const calls = new Map<string, number>();
  const add = (name: string, count: number): void => void calls.set(name, (calls.get(name) ?? 0) + count);
  for (const item of events) {
    if (item.event === 'tool_call') add(item.data.tool_call_id, 1);
    if (item.event === 'tool_result') add(item.data.tool_call_id, -1);
    // A call is told before its result.
    if (item.event === 'tool_result') expect(calls.get(item.data.tool_call_id)).toBeGreaterThanOrEqual(0);
  }
  const questions = openAfter(
    events.flatMap((item): readonly Step[] =>
      item.event === 'hitl_request'
        ? [['open', item.data.request_id]]
        : item.event === 'hitl_resolved'
          ? [['close', item.data.request_id]]
          : [],
    ),
  );
  const begun = events.flatMap((item) => (item.event === 'thread_lifecycle' ? [item.data] : []));
  const runs = openAfter(begun.map(({ phase, turn_id }): Step => [phase === 'started' ? 'open' : 'close', turn_id]));
  const ended = begun.filter(({ phase }) => phase !== 'started').map(({ turn_id }) => turn_id);
  expect(new Set(ended).size).toBe(ended.length);
  return { calls: [...calls].flatMap(([id, open]) => Array<string>(open).fill(id)), questions, runs };
}
