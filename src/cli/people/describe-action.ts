// Describes a call that waits for a person: the tool, why it asks, what the call would do, its arguments, and what else
// waits.
import { PRINTS_COLORS, paint } from '../../shown/paint.ts';
import { isInline } from '../../../schemas/content.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { type PersonEffect, type RequiredAction, previewIn, questionDigest } from '../../core/status.ts';
import { allArguments, previewCall, printedDiff } from '../preview/preview-call.ts';
import { visible } from '../../shown/visible.ts';
import { commandFor } from '../../shown/shell-word.ts';

export interface DescribeOptions {
  /** Reads a workspace file for the preview; absent when the workspace is not on this machine. */
  readonly readFile?: (path: string) => string | null;
  /** The arguments, when they are stored in a blob. */
  readonly storedArguments?: JsonObject | null;
  /** The diff of the recorded preview: what the bridge would do. Without one, the preview is made from `readFile`. */
  readonly diff?: string | null;
  /** The other actions that wait. */
  readonly others?: readonly PersonEffect[];
  /** How long a line may be; that of the terminal when absent. */
  readonly columns?: number;
}

/**
 * The lines that show one action. They are bounded, and say how much is left out. Text of the call is escaped, so it cannot
 * imitate refold's own lines.
 */
export function describeAction(action: RequiredAction, options: DescribeOptions): readonly string[] {
  const args = argumentsOf(action, options);
  const { others = [] } = options;
  const preview = args === null ? [paint.dim(largeArguments(action))] : previewLines(action, args, options);
  const due = action.due_at_ms === undefined ? [] : [paint.dim(`until ${new Date(action.due_at_ms).toISOString()}`)];
  const also = others.length === 0 ? [] : [paint.dim(`also waiting: ${namesOf(others)}`)];
  const missing = whyNoPreview(action);
  const why = missing === null ? [] : [paint.dim(visible(missing))];
  return [headOf(action), ...[...preview, ...why, ...due, ...also].map((line) => `  ${line}`)];
}

/** The lines of a preview that comes after its question was shown. */
export const latePreview = (action: RequiredAction, diff: string): readonly string[] => [
  paint.dim(`  ${visible(action.call_id)} would do this, as its bridge found:`),
  ...diffLines(diff).map((line) => `  ${line}`),
];

/** A bridge was asked what the call would do, and does not say it, or not yet. */
function whyNoPreview(action: RequiredAction): string | null {
  if (action.kind !== 'agent.tool_use' || previewIn(action) !== null) return null;
  const { preview, preview_until_ms } = action;
  if (preview !== undefined && 'code' in preview) return `no preview of the bridge: ${preview.message}`;
  return preview_until_ms === undefined ? null : 'its bridge has not said yet what it would do';
}

const diffLines = (diff: string, columns = columnsHere()): readonly string[] =>
  printedDiff(diff, { colors: PRINTS_COLORS, columns });

/** Every argument of an action, whole; null when they are stored and could not be read. */
export function wholeArguments(
  action: RequiredAction,
  stored: JsonObject | null,
  columns = columnsHere(),
): readonly string[] | null {
  const args = argumentsOf(action, { storedArguments: stored });
  if (args === null) return null;
  const lines = allArguments(args, { colors: PRINTS_COLORS, columns });
  return lines.length === 0 ? ['  no arguments'] : lines.map((line) => `  ${line}`);
}

const argumentsOf = (action: RequiredAction, { storedArguments }: DescribeOptions): JsonObject | null =>
  action.arguments ?? storedArguments ?? (action.arguments_ref === undefined ? {} : null);

function headOf(action: RequiredAction): string {
  const asks = action.kind === 'agent.tool_use';
  const what = asks ? 'may this call run?' : 'a person must carry out this call';
  const reasons = asks ? ` ${paint.dim(`(${action.consent.reasons.join(', ')})`)}` : '';
  return `${paint.yellow('?')} ${paint.bold(visible(action.tool_name))} ${paint.dim(action.mode)} ${what}${reasons}`;
}

/** The names of the first few actions. */
function namesOf(actions: readonly PersonEffect[]): string {
  const names = actions
    .slice(0, NAMES_MAX)
    .map(({ tool_name, call_id }) => visible(`${tool_name} (${call_id})`).slice(0, NAME_CHARS_MAX));
  const more = actions.length - names.length;
  return [...names, ...(more === 0 ? [] : [`${more} more`])].join(', ');
}

const NAMES_MAX = 5;
const NAME_CHARS_MAX = 60;

const previewLines = (
  action: RequiredAction,
  args: JsonObject,
  { readFile, columns, diff = null }: DescribeOptions,
): readonly string[] =>
  diff === null
    ? previewCall({
        tool: action,
        arguments: args,
        readFile: readFile ?? noFiles,
        colors: PRINTS_COLORS,
        columns: columns ?? columnsHere(),
      }).slice(1)
    : diffLines(diff, columns);

/** The rest of a row after the two spaces that stand before each line; without a terminal, lines are not broken. */
function columnsHere(): number {
  const { columns } = process.stdout;
  // A terminal that does not know its width says 0.
  return columns === undefined || columns === 0 ? Infinity : columns - 2;
}

function noFiles(): never {
  throw new Error('the workspace is not on this machine');
}

const largeArguments = ({ arguments_ref: stored }: RequiredAction): string =>
  stored === undefined || isInline(stored) ? 'no arguments' : `arguments of ${stored.bytes} bytes, blob ${stored.ref}`;

/** An action in a list: whose it is, then what it would do. */
export const actionLines = (action: RequiredAction, options: DescribeOptions = {}): readonly string[] => [
  `${paint.bold(action.call_id)}  ${action.session_id}`,
  ...describeAction(action, options),
  ...commandsFor(action).map((line) => paint.dim(`  ${line}`)),
];

/** Names the preview that is shown, so that the call runs only while its files are as they were then. */
export function previewOption(action: RequiredAction): string {
  const preview = previewIn(action);
  return preview === null ? '' : `--preview ${preview.digest}`;
}

/** The commands that answer an action. */
const commandsFor = (action: RequiredAction): readonly string[] =>
  action.kind === 'agent.custom_tool_use'
    ? [commandFor('answer', action, `--digest ${questionDigest(action)} --text "…"`)]
    : [commandFor('approve', action, previewOption(action)), commandFor('deny', action, '--message "…"')];
