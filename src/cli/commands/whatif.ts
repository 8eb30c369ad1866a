// `refold whatif`: what recorded sessions would have decided under other tools or another policy. Exits with 1 when any
// decision changes, so it can gate a change of tools in CI.
import { paint } from '../../shown/paint.ts';
import { argumentsValue } from '../../../schemas/tool-call.ts';
import { claimsOf } from '../../../reducers/claims.ts';
import { newReplayer } from '../../core/replay.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import {
  type Alternative,
  type CallToJudge,
  type Judged,
  type TurnWhatIf,
  newWhatIf,
} from '../../core/compare/what-if.ts';
import { newRequestBudget } from '../../engine/edge/budget.ts';
import { type SchemaCheck, newSchemaCheck } from '../../engine/edge/schema-check.ts';
import { storedArguments } from '../../client/stored-arguments.ts';
import { withEngine } from '../with-engine.ts';
import { allSessions } from '../../client/all-sessions.ts';
import { CommandFailure, type Output, commandFailureOf } from '../output.ts';
import { type Source, addRecord, doesNotFold, sessionSource, sourceTitle, withSources } from '../audit/source.ts';
import { type AlternativeFiles, readAlternativeFiles } from '../audit/whatif-alternative.ts';
import { whatIfLines, turnObject } from '../../shown/whatif-lines.ts';

export interface WhatIfCommand extends AlternativeFiles {
  readonly sources: readonly string[];
  readonly all: boolean;
  /** A changed offer counts as a change. */
  readonly strict: boolean;
  /** The most changes to report for one session. */
  readonly changesMax: number;
  /** Only the turns of this many events; all when absent. */
  readonly at?: number;
  readonly dataDir: string;
}

/** The result for one session. */
interface Outcome {
  readonly source: string;
  readonly kind: Source['kind'];
  readonly sessionId: string | null;
  readonly turns: number;
  readonly calls: number;
  readonly changed: readonly TurnWhatIf[];
  readonly unjudged: number;
  readonly failure: CommandFailure | null;
}

export async function whatIfCommand(command: WhatIfCommand, output: Output): Promise<number> {
  const { sources, all, registry, profile, policy, dataDir } = command;
  if (registry === undefined && profile === undefined && policy === undefined) {
    throw new CommandFailure(
      'invalid_shape',
      'no alternative is given. Give --registry FILE, --profile ID or --policy FILE',
    );
  }
  if (sources.length === 0 && !all) {
    throw new CommandFailure('invalid_shape', 'name sessions or exported files, or give --all for every session');
  }
  const alternative = await readAlternativeFiles(command);
  const outcomes: Outcome[] = [];
  const redecideAll = async (found: readonly Source[]): Promise<void> => {
    const checkSchema = newSchemaCheck();
    for (const [index, source] of found.entries()) {
      output.note(`${index + 1} of ${found.length}: ${source.name}`);
      const outcome = await redecide(source, { alternative, checkSchema, at: command.at ?? Infinity });
      outcomes.push(outcome);
      output.note('');
      report(outcome, command, output);
    }
  };
  await withSources(sources, { dataDir, output }, redecideAll);
  if (all) {
    await withEngine(dataDir, async (client) => {
      const stored: Source[] = [];
      for await (const { session_id } of allSessions(client)) stored.push(sessionSource(client, session_id));
      await redecideAll(stored);
    });
  }
  return summarise(outcomes, command, output);
}

interface Redecision {
  readonly alternative: Alternative;
  readonly checkSchema: SchemaCheck;
  readonly at: number;
}

async function redecide(source: Source, { alternative, checkSchema, at }: Redecision): Promise<Outcome> {
  const whatIf = newWhatIf(alternative);
  const folded: FoldedEvent[] = [];
  const replayer = newReplayer((event) => folded.push(event));
  const turns: TurnWhatIf[] = [];
  let failure: CommandFailure | null = null;
  try {
    for await (const record of source.records()) {
      if (!addRecord(replayer, record, source)) break;
      for (const event of folded.splice(0).filter(({ position }) => position < at)) {
        const judged = await judge(source, whatIf.toJudge(event), checkSchema);
        const turn = whatIf.add(event, judged);
        if (turn !== null) turns.push(turn);
      }
      if (replayer.result().events >= at) break;
    }
  } catch (error) {
    failure = commandFailureOf(error);
    if (failure === null) throw error;
  }
  const { divergence, state } = replayer.result();
  if (failure === null && divergence !== null) failure = doesNotFold(source, divergence);
  return {
    source: source.name,
    kind: source.kind,
    sessionId: state?.session_id ?? null,
    turns: turns.length,
    calls: turns.reduce((sum, { calls }) => sum + calls, 0),
    changed: turns.filter(({ offer, fault, changes }) => offer !== null || fault !== null || changes.length > 0),
    unjudged: turns.reduce((sum, { unjudged }) => sum + unjudged, 0),
    failure,
  };
}

async function judge(
  { client }: Source,
  wanted: readonly CallToJudge[],
  checkSchema: SchemaCheck,
): Promise<ReadonlyMap<number, Judged>> {
  const judged = new Map<number, Judged>();
  for (const { index, call, tool } of wanted) {
    const args = argumentsValue(call) ?? (await storedArguments(client, call.arguments_ref));
    if (args === null) continue;
    const verdict = await checkSchema(tool, args, newRequestBudget());
    judged.set(index, { verdict, claims: claimsOf(tool.parallelism_hint, args) });
  }
  return judged;
}

interface Counts {
  readonly rejections: number;
  readonly approvals: number;
  readonly plans: number;
  readonly offers: number;
  readonly faults: number;
}

const countsOf = (turns: readonly TurnWhatIf[]): Counts => {
  const changes = turns.flatMap((turn) => turn.changes);
  return {
    rejections: changes.filter(({ kind }) => kind === 'rejection').length,
    approvals: changes.filter(({ kind }) => kind === 'approval').length,
    plans: changes.filter(({ kind }) => kind === 'plan').length,
    offers: turns.filter(({ offer }) => offer !== null).length,
    faults: turns.filter(({ fault }) => fault !== null).length,
  };
};

const isChanged = ({ rejections, approvals, plans, offers, faults }: Counts, strict: boolean): boolean =>
  rejections + approvals + plans + faults > 0 || (strict && offers > 0);

function report(outcome: Outcome, { strict, changesMax }: WhatIfCommand, output: Output): void {
  const { source, kind, turns, calls, changed, unjudged, failure } = outcome;
  const counts = countsOf(changed);
  output.object({
    source,
    source_kind: kind,
    session_id: outcome.sessionId,
    turns,
    calls,
    changed: isChanged(counts, strict),
    ...counts,
    unjudged,
    at: changed.slice(0, changesMax).map((turn) => turnObject(turn)),
    rest: Math.max(0, changed.length - changesMax),
    ...(failure === null ? {} : { error: { code: failure.code, message: failure.message } }),
  });
  if (failure !== null) {
    output.line(`${paint.yellow('unreadable')}  ${kind} ${source}: ${failure.message}`);
    return;
  }
  const mark = isChanged(counts, strict) ? paint.red('changes') : paint.green('same   ');
  output.line(
    `${mark}  ${sourceTitle({ kind, name: source }, outcome.sessionId)}  ${turns} turns, ${calls} calls: ${describeCounts(counts)}`,
  );
  if (unjudged > 0) {
    output.line(
      paint.yellow(`         ${unjudged} calls keep their verdict: their arguments are blobs that are not available`),
    );
  }
  const lines = changed.flatMap((turn, index) => whatIfLines(turn, changed[index - 1] ?? null));
  for (const line of lines.slice(0, changesMax)) output.line(`  ${line}`);
  if (lines.length > changesMax) output.line(paint.dim(`  and ${lines.length - changesMax} more lines (--max)`));
}

function describeCounts({ rejections, approvals, plans, offers, faults }: Counts): string {
  const rows = [
    [rejections, 'rejection'],
    [approvals, 'approval'],
    [plans, 'plan of a call'],
    [offers, 'offer'],
    [faults, 'turn without any tools'],
  ] as const;
  const some = rows
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${count === 1 ? what : plural(what)}`);
  return some.length === 0 ? 'nothing changes' : some.join(', ');
}

const plural = (what: string): string =>
  what.startsWith('plan') ? 'plans of calls' : what.startsWith('turn') ? 'turns without any tools' : `${what}s`;

function summarise(outcomes: readonly Outcome[], { strict }: WhatIfCommand, output: Output): number {
  const changed = outcomes.filter((outcome) => isChanged(countsOf(outcome.changed), strict)).length;
  const unreadable = outcomes.filter(({ failure }) => failure !== null).length;
  const counts = countsOf(outcomes.flatMap((outcome) => outcome.changed));
  output.object({ summary: { sessions: outcomes.length, changed, unreadable, ...counts } });
  const verb = changed === 1 ? 'decides' : 'decide';
  const found = changed === 0 ? paint.green('none decides differently') : paint.red(`${changed} ${verb} differently`);
  const sessions = outcomes.length === 1 ? 'session' : 'sessions';
  const rest = unreadable === 0 ? '' : paint.yellow(`, ${unreadable} unreadable`);
  output.line(`${outcomes.length} ${sessions}: ${found}${rest}; ${describeCounts(counts)}`);
  return changed > 0 ? 1 : unreadable > 0 ? 2 : 0;
}
