// What waits for approval in the toolsets of a session: each definition, and how it differs from the approved one.
import { type Content, isInline } from '../../schemas/content.ts';
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { eventsIn } from '../../schemas/record.ts';
import type { Toolsets } from '../../schemas/toolset.ts';
import { upcast } from '../../schemas/upcast.ts';
import { type ToolsetHistory, newToolsetHistory, waitingTools } from '../../src/core/compare/toolset-history.ts';
import { definitionChanges } from '../../src/shown/definition-lines.ts';
import { diffLineOf } from '../people/waiting.ts';
import type { WaitingDefinition, WaitingToolset } from '../protocol.ts';
import { bytesOfBlob } from './blobs.ts';
import type { StreamFold } from './stream-fold.ts';

/** Definitions of one toolset that are shown at once, and so approved at once; the others come when these are approved. */
const SHOWN_MAX = 20;

/** Made once for toolsets that have not changed: it takes reading the whole stream. */
const made = new WeakMap<Toolsets, readonly WaitingToolset[]>();

export async function waitingToolsets(fold: StreamFold): Promise<readonly WaitingToolset[]> {
  const { toolsets = {} } = fold.now()?.state ?? {};
  const found = made.get(toolsets) ?? (await readToolsets(fold, toolsets));
  made.set(toolsets, found);
  return found;
}

async function readToolsets(fold: StreamFold, toolsets: Toolsets): Promise<readonly WaitingToolset[]> {
  const waiting = Object.entries(toolsets)
    .map(([toolset, known]) => ({ toolset, owner: known.owner, tools: waitingTools(known) }))
    .filter(({ tools }) => tools.length > 0);
  if (waiting.length === 0) return [];
  const history = await readHistory(fold);
  return await Promise.all(
    waiting.map(async ({ toolset, owner, tools }) => ({
      toolset,
      owner,
      rest: Math.max(0, tools.length - SHOWN_MAX),
      tools: await Promise.all(
        tools.slice(0, SHOWN_MAX).map(async (tool): Promise<WaitingDefinition> => {
          const text = await readText(fold, history, tool.digest);
          const before = await readText(fold, history, tool.approved);
          const changes = text === null ? null : definitionChanges({ ...tool, text, before });
          return { tool_id: tool.tool_id, digest: tool.digest, lines: changes?.map(diffLineOf) ?? null };
        }),
      ),
    })),
  );
}

async function readHistory({ source }: StreamFold): Promise<ToolsetHistory> {
  const history = newToolsetHistory();
  for await (const commits of source.commitsFrom(0)) {
    for (const commit of commits) for (const { event } of eventsIn(commit)) history.add(upcast(event));
  }
  return history;
}

/** Null when it is not there, or is another text than its digest says. */
async function readText(
  { source }: StreamFold,
  history: ToolsetHistory,
  digest: Digest | null,
): Promise<string | null> {
  const content: Content | null = digest === null ? null : history.definition(digest);
  if (content === null) return null;
  if (isInline(content)) return digestText(content.text) === digest ? content.text : null;
  const bytes = await bytesOfBlob(source, content.ref).catch(() => null);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}
