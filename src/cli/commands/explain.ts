// `refold explain`: why a tool was in or out, or what happened to a call or in a turn of the model and why.
import { paint } from '../../shown/paint.ts';
import { type CallId, brand } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { decideConsent } from '../../../reducers/consent.ts';
import { type CallExplanation, newCallHistory } from '../../core/explain-call.ts';
import { type ToolExplanation, newToolHistory, describeProfile } from '../../core/explain-tools.ts';
import { newCompactionHistory } from '../../core/explain-compaction.ts';
import { newTurnHistory } from '../../core/explain-turn.ts';
import { toolOrigin } from '../../core/compare/toolset-history.ts';
import { schemaFault } from '../../engine/edge/schema-check.ts';
import { CommandFailure, type Output } from '../output.ts';
import { callLines } from '../../shown/call-lines.ts';
import { compactionLines } from '../../shown/compaction-lines.ts';
import { turnLines } from '../../shown/turn-lines.ts';
import { type Source, foldSource, sourceTitle, withSources } from '../audit/source.ts';

export interface ExplainCommand {
  /** A session id, or the path of an exported stream. */
  readonly source: string;
  /** After this many events; after all when absent. */
  readonly at?: number;
  /** A tool's name or id. */
  readonly tool?: string;
  readonly call?: string;
  /** The number of a turn; each run may have one. */
  readonly turn?: number;
  /** Every compaction of the conversation. */
  readonly compactions?: boolean;
  readonly dataDir: string;
}

export function explainCommand(command: ExplainCommand, output: Output): Promise<number> {
  return withSources([command.source], { dataDir: command.dataDir, output }, async ([source]) => {
    const { call, turn } = command;
    if (command.compactions === true) await explainCompactions(source as Source, command, output);
    else if (turn !== undefined) await explainTurns(source as Source, { ...command, turn }, output);
    else if (call === undefined) await explainTools(source as Source, command, output);
    else await explainCalls(source as Source, { ...command, call: brand<'CallId'>(call) }, output);
    return 0;
  });
}

async function explainTools(source: Source, { at, tool }: ExplainCommand, output: Output): Promise<void> {
  const history = newToolHistory();
  const { state, events } = await foldSource(source, at, (folded) => history.add(folded));
  const all = history.explain(state);
  const wanted = all.filter((row) => tool === undefined || row.tool_name === tool || row.tool_id === tool);
  if (wanted.length === 0) {
    const names = all.map(({ tool_name }) => tool_name).join(', ');
    throw new CommandFailure(
      'tool_unknown',
      `there is no tool "${tool}" after ${events} events. The tools are: ${names}`,
    );
  }
  head(source, state, events, output);
  output.line(`profile  ${describeProfile(state)}`);
  for (const row of wanted) {
    const unchecked = uncheckedBy(state, row);
    output.object({
      session_id: state.session_id,
      at: events,
      profile_id: state.effective_tools.profile_id,
      tool: { ...row, origin: toolOrigin(state, row.tool_id), unchecked },
    });
    for (const line of [
      ...toolLines(row),
      originLine(state, row),
      effectsLine(state, row),
      ...unchecked.map(uncheckedLine),
    ])
      output.line(line);
  }
}

function toolLines({ tool_name, tool_id, effective, reasons, since }: ToolExplanation): readonly string[] {
  const mark = effective ? paint.green('in ') : paint.red('out');
  const when = since === null ? 'from the start' : `since position ${since.position}, ${since.kind}`;
  return [
    `${mark}  ${paint.bold(tool_name)} ${paint.dim(`${tool_id}, ${when}`)}`,
    ...reasons.map(({ code, speaks_for, text }) => `     ${speaks_for ? '+' : '-'} ${code}: ${text}`),
  ];
}

function originLine(state: SessionState, { tool_id }: ToolExplanation): string {
  const origin = toolOrigin(state, tool_id);
  const from =
    origin === null ? 'the registry of the session' : `the toolset ${origin.toolset}, set by ${origin.owner}`;
  return paint.dim(`     from ${from}`);
}

/** The effects of the tool, and whether a call of it would ask a person. */
function effectsLine({ tool_registry, consent }: SessionState, { tool_id }: ToolExplanation): string {
  const spec = tool_registry[tool_id];
  if (spec === undefined) return paint.dim('     no longer registered');
  const { mode, effects, ownership, executor } = spec;
  const { decision, reasons } = decideConsent(consent, spec, null);
  const asks = `${decision} ${reasons.join(', ')}`;
  const does = effects.length === 0 ? 'no named effects' : effects.join(', ');
  return paint.dim(`     ${mode}, ${ownership} (${executor.kind}): ${does}; ${asks.trim()}`);
}

interface Unchecked {
  readonly what: 'arguments' | 'results';
  readonly why: string;
}

/** What is not checked, because its schema does not compile. */
function uncheckedBy({ tool_registry }: SessionState, { tool_id }: ToolExplanation): readonly Unchecked[] {
  const { input_schema, output_schema } = tool_registry[tool_id] ?? {};
  return [
    { what: 'arguments', schema: input_schema } as const,
    { what: 'results', schema: output_schema } as const,
  ].flatMap(({ what, schema }) => {
    const why = schema === undefined ? null : schemaFault(schema);
    return why === null ? [] : [{ what, why }];
  });
}

const uncheckedLine = ({ what, why }: Unchecked): string =>
  paint.yellow(`     ! ${what} are not checked: the schema does not compile (${why})`);

async function explainCalls(
  source: Source,
  { at, call }: ExplainCommand & { readonly call: CallId },
  output: Output,
): Promise<void> {
  const history = newCallHistory(call);
  const { state, events } = await foldSource(source, at, (folded) => history.add(folded));
  const found: readonly CallExplanation[] = history.result();
  if (found.length === 0) {
    const message = `the first ${events} events of ${source.name} contain no call "${call}". List the events: refold events`;
    throw new CommandFailure('unknown_call', message);
  }
  head(source, state, events, output);
  for (const explanation of found) {
    output.object({ session_id: state.session_id, at: events, ...explanation });
    for (const line of callLines(explanation)) output.line(line);
  }
}

async function explainTurns(
  source: Source,
  { at, turn }: ExplainCommand & { readonly turn: number },
  output: Output,
): Promise<void> {
  const history = newTurnHistory(turn);
  const { state, events } = await foldSource(source, at, (folded) => history.add(folded));
  const found = history.result();
  if (found.length === 0) {
    const message = `the first ${events} events of ${source.name} contain no turn ${turn}. List the events: refold events`;
    throw new CommandFailure('unknown_turn', message);
  }
  head(source, state, events, output);
  for (const explanation of found) {
    output.object({ session_id: state.session_id, at: events, ...explanation });
    for (const line of turnLines(explanation)) output.line(line);
  }
}

async function explainCompactions(source: Source, { at }: ExplainCommand, output: Output): Promise<void> {
  const history = newCompactionHistory();
  const { state, events } = await foldSource(source, at, (folded) => history.add(folded));
  const found = history.result();
  head(source, state, events, output);
  if (found.length === 0) output.line('no compaction was owed');
  for (const explanation of found) {
    output.object({ session_id: state.session_id, at: events, ...explanation });
    output.line(`${paint.bold(`turn ${explanation.turn}`)} of ${explanation.run_id}`);
    for (const line of compactionLines(explanation)) output.line(line);
  }
}

const head = (source: Source, { session_id }: SessionState, events: number, output: Output): void =>
  output.line(`${paint.bold(sourceTitle(source, session_id))}  after ${events} events`);
