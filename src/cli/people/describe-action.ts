// Describes a call that waits for a person: the tool, why it asks, what the call would do, and what else waits.
import pc from 'picocolors';
import { isInline } from '../../../schemas/content.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { RequiredAction } from '../../core/status.ts';
import { previewCall } from '../preview/preview-call.ts';
import { visible } from '../preview/visible.ts';

export interface DescribeOptions {
  /** Reads a workspace file for the preview; absent when the workspace is not on this machine. */
  readonly readFile?: (path: string) => string | null;
  /** The arguments, when they are stored in a blob. */
  readonly storedArguments?: JsonObject;
  /** The other actions that wait. */
  readonly others: readonly RequiredAction[];
}

/** The lines that show one action. Text of the call is escaped, so it cannot imitate refold's own lines. */
export function describeAction(action: RequiredAction, options: DescribeOptions): readonly string[] {
  const args = action.arguments ?? options.storedArguments ?? null;
  const asks = action.kind === 'agent.tool_use';
  const what = asks ? 'may this call run?' : 'a person must carry out this call';
  const reasons = asks ? ` ${pc.dim(`(${action.consent.reasons.join(', ')})`)}` : '';
  const head = `${pc.yellow('?')} ${pc.bold(visible(action.tool_name))} ${pc.dim(action.mode)} ${what}${reasons}`;
  const preview = args === null ? [pc.dim(largeArguments(action))] : previewLines(action, args, options);
  const due = action.due_at_ms === undefined ? [] : [pc.dim(`until ${new Date(action.due_at_ms).toISOString()}`)];
  const others = options.others.length === 0 ? [] : [pc.dim(`also waiting: ${namesOf(options.others)}`)];
  return [head, ...[...preview, ...due, ...others].map((line) => `  ${line}`)];
}

/** The names of the first few actions. */
function namesOf(actions: readonly RequiredAction[]): string {
  const names = actions.slice(0, NAMES_MAX).map(({ tool_name, call_id }) => visible(`${tool_name} (${call_id})`));
  const more = actions.length - names.length;
  return [...names, ...(more === 0 ? [] : [`${more} more`])].join(', ');
}

const NAMES_MAX = 5;

const previewLines = (action: RequiredAction, args: JsonObject, { readFile }: DescribeOptions): readonly string[] =>
  previewCall({
    tool: action,
    arguments: args,
    readFile: readFile ?? noFiles,
    colors: pc.isColorSupported,
  }).slice(1);

function noFiles(): never {
  throw new Error('the workspace is not on this machine');
}

const largeArguments = ({ arguments_ref: stored }: RequiredAction): string =>
  stored === undefined || isInline(stored) ? 'no arguments' : `arguments of ${stored.bytes} bytes, blob ${stored.ref}`;

/** One line for lists. */
export const actionLine = (session: string, action: RequiredAction): string =>
  [
    action.call_id,
    session,
    action.kind === 'agent.tool_use' ? 'confirm' : 'fulfil',
    visible(action.tool_name),
    action.mode,
    clip(visible(JSON.stringify(action.arguments ?? {}))),
  ].join('  ');

const clip = (text: string): string => (text.length <= 80 ? text : `${text.slice(0, 79)}…`);

/** The command that answers an action. */
export const commandFor = (state: SessionState, action: RequiredAction): string =>
  action.kind === 'agent.tool_use'
    ? `refold approve ${action.call_id} --session ${state.session_id}   or   refold deny ${action.call_id} --session ${state.session_id} --message "…"`
    : `refold answer ${action.call_id} --session ${state.session_id} --text "…"`;
