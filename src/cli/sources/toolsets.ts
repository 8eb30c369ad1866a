// `refold toolsets`: the toolsets of a session, who sets them and what waits for approval; approves definitions that a person
// has seen, and removes a toolset.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Content, isInline } from '../../../schemas/content.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { Digest, SessionId } from '../../../schemas/ids.ts';
import type { ToolRegistry } from '../../../schemas/tool-set.ts';
import type { Toolset, Toolsets } from '../../../schemas/toolset.ts';
import type { EngineClient } from '../../client/client.ts';
import { must } from '../../client/must.ts';
import {
  type ToolsetHistory,
  type WaitingTool,
  newToolsetHistory,
  waitingTools,
} from '../../core/compare/toolset-history.ts';
import { type ShownDefinition, definitionLines } from '../../shown/definition-lines.ts';
import { paint } from '../../shown/paint.ts';
import { eventsIn } from '../../../schemas/record.ts';
import { upcast } from '../../../schemas/upcast.ts';
import { CommandFailure, type Output } from '../output.ts';
import { askAtTerminal } from '../people/ask-approval.ts';
import { userName } from '../people/user-name.ts';
import { withEngine } from '../with-engine.ts';

export const TOOLSETS_ACTIONS = ['list', 'approve', 'remove'] as const;

export interface ToolsetsRequest {
  readonly action: (typeof TOOLSETS_ACTIONS)[number];
  readonly id: SessionId;
  /** Of the other actions than `list`. */
  readonly toolset: string | undefined;
  /** With approve: only these tools; without it, all that wait. */
  readonly tools: readonly string[];
  /** Nothing is asked. */
  readonly yes: boolean;
}

export async function toolsetsCommand(dataDir: string, request: ToolsetsRequest, output: Output): Promise<number> {
  const { action, id, toolset } = request;
  return await withEngine(dataDir, async (client) => {
    const { toolsets = {}, tool_registry } = (await must(client.session(id))).state;
    if (action === 'list') return listToolsets(id, toolsets, tool_registry, output);
    const known = toolset !== undefined && Object.hasOwn(toolsets, toolset) ? toolsets[toolset] : undefined;
    if (toolset === undefined || known === undefined) {
      const names = Object.keys(toolsets).join(', ') || 'none';
      const wrong = toolset === undefined ? 'name a toolset' : `${id} has no toolset "${toolset}"`;
      throw new CommandFailure('toolset_unknown', `${wrong}. The session has: ${names}`);
    }
    const named = { id, toolset, known };
    return action === 'approve'
      ? await approveTools(client, named, request, output)
      : await removeToolset(client, named, request, output);
  });
}

function listToolsets(id: SessionId, toolsets: Toolsets, tool_registry: ToolRegistry, output: Output): number {
  const entries = Object.entries(toolsets);
  if (entries.length === 0) output.line(`${id} has no toolsets`);
  for (const [toolset, known] of entries) {
    const waiting = waitingTools(known);
    const count = Object.keys(known.tools).length;
    output.object({
      session_id: id,
      toolset,
      owner: known.owner,
      tools: count,
      approved: count - waiting.length,
      waiting,
    });
    output.line(
      `${paint.bold(toolset)}  set by ${known.owner}: ${count} tools, ${count - waiting.length} approved${waiting.length === 0 ? '' : paint.yellow(`, ${waiting.length} wait for approval`)}`,
    );
    for (const { tool_id, approved } of waiting) {
      const name = tool_registry[tool_id]?.tool_name ?? '';
      output.line(`  ${paint.yellow(approved === null ? 'new    ' : 'changed')}  ${tool_id} ${paint.dim(name)}`);
    }
    if (waiting.length > 0) output.line(paint.dim(`  look and approve: refold toolsets approve ${id} ${toolset}`));
  }
  return 0;
}

interface Named {
  readonly id: SessionId;
  readonly toolset: string;
  readonly known: Toolset;
}

async function approveTools(
  client: EngineClient,
  { id, toolset, known }: Named,
  { tools, yes }: ToolsetsRequest,
  output: Output,
): Promise<number> {
  const wanted = wantedTools(known, toolset, tools);
  if (wanted.length === 0) {
    output.line(`no tool of ${toolset} waits for approval`);
    return 0;
  }
  const history = await readHistory(client, id);
  const shown = await Promise.all(wanted.map((tool) => readDefinition(client, history, tool)));
  for (const definition of shown) for (const line of definitionLines(definition)) output.line(line);
  await confirm(
    `approve ${shown.length === 1 ? 'this definition' : `these ${shown.length} definitions`} of ${toolset}?`,
    {
      yes,
      output,
    },
  );
  const approved = Object.fromEntries(wanted.map(({ tool_id, digest }) => [tool_id, digest]));
  const event = { kind: 'ToolsetApproved' as const, toolset, tools: approved, by: userName() };
  const receipt = await must(client.submit(id, { events: [event] }));
  output.object({ event, receipt });
  output.line(`approved: ${Object.keys(approved).join(', ')}`);
  return 0;
}

function wantedTools(known: Toolset, toolset: string, tools: readonly string[]): readonly WaitingTool[] {
  const waiting = waitingTools(known);
  if (tools.length === 0) return waiting;
  return tools.map((id) => {
    const tool = waiting.find(({ tool_id }) => tool_id === id);
    if (tool !== undefined) return tool;
    const why = Object.hasOwn(known.tools, id) ? 'is approved as it is' : 'is no tool of the toolset';
    const others = waiting.map(({ tool_id }) => tool_id).join(', ') || 'none';
    throw new CommandFailure('tool_unknown', `"${id}" ${why}. Of ${toolset} wait for approval: ${others}`);
  });
}

/** The events of the whole stream, a page at a time. */
async function readHistory(client: EngineClient, id: SessionId): Promise<ToolsetHistory> {
  const history = newToolsetHistory();
  for (let from = 0; ;) {
    const page = await must(client.records(id, from));
    const events = page
      .flatMap((record) => (record.kind === 'commit' ? eventsIn(record) : []))
      .filter(({ position }) => position >= from);
    const last = events.at(-1);
    if (last === undefined) return history;
    for (const { event } of events) history.add(upcast(event));
    from = last.position + 1;
  }
}

/** A definition that cannot be shown cannot be approved. */
async function readDefinition(
  client: EngineClient,
  history: ToolsetHistory,
  tool: WaitingTool,
): Promise<ShownDefinition> {
  const text = await readText(client, tool.digest, history.definition(tool.digest));
  if (text === null) {
    const message = `the definition of ${tool.tool_id} cannot be read, so it cannot be shown. Repair the blobs: refold verify --all`;
    throw new CommandFailure('unknown_blob', message);
  }
  const { approved } = tool;
  return {
    ...tool,
    text,
    before: approved === null ? null : await readText(client, approved, history.definition(approved)),
  };
}

/** Null when it is not there, or is another text than its digest says. */
async function readText(client: EngineClient, digest: Digest, content: Content | null): Promise<string | null> {
  if (content === null) return null;
  if (isInline(content)) return content.text;
  const bytes = await client.getBlob(content.ref)();
  return isLeft(bytes) || digestText(bytes.right) !== digest ? null : new TextDecoder().decode(bytes.right);
}

async function removeToolset(
  client: EngineClient,
  { id, toolset, known }: Named,
  { yes }: ToolsetsRequest,
  output: Output,
): Promise<number> {
  const count = Object.keys(known.tools).length;
  output.line(`${toolset}, set by ${known.owner}: ${count} tools. What was approved of it is forgotten, too.`);
  await confirm(`remove ${toolset}?`, { yes, output });
  const event = { kind: 'ToolsetRemoved' as const, toolset, by: userName() };
  const receipt = await must(client.submit(id, { events: [event] }));
  output.object({ event, receipt });
  output.line(`removed: ${toolset}`);
  return 0;
}

/** Throws a CommandFailure unless the person at the terminal agrees, or has said so beforehand. */
async function confirm(
  question: string,
  { yes, output }: { readonly yes: boolean; readonly output: Output },
): Promise<void> {
  if (yes) return;
  const ask = askAtTerminal(output);
  if (ask === undefined) {
    throw new CommandFailure('confirmation_required', 'there is no terminal to ask at. With --yes, nothing is asked');
  }
  if (!(await ask(`  ${question} y/N `))) throw new CommandFailure('not_confirmed', 'nothing was recorded', 1);
}
