// `refold diff`: where two recorded streams first differ, and how their states differ then and at the end.
import { paint } from '../../shown/paint.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { JsonDiff, JsonDifference } from '../../core/compare/diff.ts';
import {
  IGNORED_IN_RECORDS,
  IGNORED_IN_STATE,
  type StreamDiff,
  newStreamDiffer,
} from '../../core/compare/diff-streams.ts';
import type { Output } from '../output.ts';
import { type Source, doesNotFold, withSources } from '../audit/source.ts';
import { clipJson } from '../../shown/clip-json.ts';

export interface DiffCommand {
  /** Session ids or paths of exported streams. */
  readonly a: string;
  readonly b: string;
  readonly strict: boolean;
  /** The most paths to show for each comparison. */
  readonly pathsMax: number;
  /** How many events to compare; all when absent. */
  readonly at?: number;
  readonly dataDir: string;
}

export async function diffCommand(command: DiffCommand, output: Output): Promise<number> {
  const { a, b, dataDir } = command;
  return await withSources([a, b], { dataDir, output }, async ([left, right]) => {
    const sources = { a: left as Source, b: right as Source };
    const found = await compare(sources.a, sources.b, command);
    if (found.divergence !== null) throw doesNotFold(sources[found.divergence.stream], found.divergence.divergence);
    const same = found.first === null && isNone(found.stateAtEnd);
    report(found, { ...command, sources, same }, output);
    return same ? 0 : 1;
  });
}

async function compare(a: Source, b: Source, { strict, pathsMax, at }: DiffCommand): Promise<StreamDiff> {
  const differ = newStreamDiffer({ strict, pathsMax, ...(at === undefined ? {} : { at }) });
  const records = { a: a.records(), b: b.records() };
  try {
    for (let stream = differ.wants(); stream !== null; stream = differ.wants()) {
      differ.add(await nextOf(records[stream]));
    }
  } finally {
    await records.a.return(undefined);
    await records.b.return(undefined);
  }
  return differ.result();
}

async function nextOf(records: AsyncGenerator<StreamRecord, void>): Promise<StreamRecord | null> {
  const next = await records.next();
  return next.done === true ? null : next.value;
}

const isNone = ({ differences, rest }: JsonDiff): boolean => differences.length + rest === 0;

type Reported = DiffCommand & { readonly sources: Readonly<Record<'a' | 'b', Source>>; readonly same: boolean };

function report({ first, stateAfterFirst, stateAtEnd, events }: StreamDiff, command: Reported, output: Output): void {
  const { a, b } = command.sources;
  const ignored = command.strict ? null : { records: IGNORED_IN_RECORDS, state: IGNORED_IN_STATE };
  output.object({
    a: { source: a.name, source_kind: a.kind, events: events.a },
    b: { source: b.name, source_kind: b.kind, events: events.b },
    same: command.same,
    ignored,
    first: first === null ? null : { ...first, paths: clipped(first.paths) },
    state_after_first: stateAfterFirst === null ? null : clipped(stateAfterFirst),
    state_at_end: clipped(stateAtEnd),
  });
  output.line(`a  ${a.kind} ${a.name}  ${events.a} events`);
  output.line(`b  ${b.kind} ${b.name}  ${events.b} events`);
  if (!command.strict) {
    output.line(paint.dim(`not compared without --strict, in the events: ${IGNORED_IN_RECORDS.join(' ')}`));
    output.line(paint.dim(`not compared without --strict, in the state: ${IGNORED_IN_STATE.join(' ')}`));
  }
  if (first === null) output.line(`events  ${paint.green('the same')}`);
  else {
    output.line(`events  ${paint.red(`differ first at position ${first.position}`)}: ${kindsOf(first)}`);
    reportPaths(first.paths, output);
  }
  if (stateAfterFirst !== null) reportState('right after it', stateAfterFirst, output);
  reportState('at the end', stateAtEnd, output);
}

const kindsOf = ({ a, b }: NonNullable<StreamDiff['first']>): string =>
  a === b ? String(a) : `a ${a ?? 'has ended'}, b ${b ?? 'has ended'}`;

function reportState(when: string, diff: JsonDiff, output: Output): void {
  const count = diff.differences.length + diff.rest;
  const how =
    count === 0 ? paint.green('the same') : paint.red(`${count} ${count === 1 ? 'path differs' : 'paths differ'}`);
  output.line(`state ${when}  ${how}`);
  reportPaths(diff, output);
}

const LINE_WIDTH = 60;
const JSON_WIDTH = 400;
const ABSENT = 'nothing';

function reportPaths({ differences, rest }: JsonDiff, output: Output): void {
  for (const difference of differences) {
    const { path, a, b } = clipSides(difference, LINE_WIDTH);
    output.line(`  ${path === '' ? '(the whole value)' : path}`);
    output.line(`    a ${a ?? paint.dim(ABSENT)}`);
    output.line(`    b ${b ?? paint.dim(ABSENT)}`);
  }
  if (rest > 0) output.line(paint.dim(`  and ${rest} more`));
}

/** Values as clipped JSON text; a side without a value is absent. */
const clipped = ({ differences, rest }: JsonDiff): object => ({
  differences: differences.map((difference) => clipSides(difference, JSON_WIDTH)),
  rest,
});

function clipSides(
  { path, a, b }: JsonDifference,
  width: number,
): { readonly path: string; readonly a?: string; readonly b?: string } {
  return {
    path,
    ...(a === undefined ? {} : { a: clipJson(a, width) }),
    ...(b === undefined ? {} : { b: clipJson(b, width) }),
  };
}
