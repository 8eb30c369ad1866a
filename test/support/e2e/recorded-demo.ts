// The recorded demo, for tests that name its events: their positions are read from the recording, never written down.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommitRecord, RecordedEvent, StreamRecord } from '../../../schemas/index.ts';
import { ROOT } from './refold.ts';

/** The path of the export. */
export const DEMO = join(ROOT, 'replay-fixtures/demo/session.jsonl');

/** Its lines: the tool package, the genesis record, then one commit each. */
export const DEMO_LINES: readonly string[] = (await readFile(DEMO, 'utf8')).trimEnd().split('\n');

export const DEMO_EVENTS: readonly RecordedEvent[] = DEMO_LINES.slice(2).flatMap((line) => commitIn(line).events);

/** The commit in a line. Throws when the line is another record. */
export function commitIn(line: string | undefined): CommitRecord {
  const record = JSON.parse(String(line)) as StreamRecord;
  if (record.kind !== 'commit') throw new Error(`no commit: ${line}`);
  return record;
}

/** The position of the first event of the demo that is as wanted. Throws when there is none. */
export function positionIn(wanted: (event: RecordedEvent) => boolean): number {
  const position = DEMO_EVENTS.findIndex(wanted);
  if (position === -1) throw new Error('the recorded demo has no such event');
  return position;
}

/** The position of the calls of a turn. */
export const turnIn = (turn: number): number =>
  positionIn((event) => event.kind === 'ToolCallsObserved' && event.turn === turn);

/** The position of the first start, or of the settlement, of a call. */
export const callIn = (kind: 'ToolCallStarted' | 'ToolCallSettled', call_id: string): number =>
  positionIn((event) => event.kind === kind && event.call_id === call_id);
