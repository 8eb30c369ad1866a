// The event that gives a session the tools of a source. Definitions that are long are stored as blobs first.
import { isLeft, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Content } from '../../schemas/content.ts';
import type { Ingress } from '../../schemas/event.ts';
import { type OwnerId, brand } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { ToolsetTool } from '../../schemas/toolset.ts';
import type { DefinedTool } from './skill-tools.ts';

/** Who sets the catalog, and who sets skills: these belong to no process, and whichever reports them sets the same toolset. */
export const CATALOG_OWNER: OwnerId = brand('catalog');
export const SKILLS_OWNER: OwnerId = brand('skills');

export interface ReportedTools {
  readonly toolset: string;
  readonly tools: readonly DefinedTool[];
  /** `first`: approve what a session gets first. */
  readonly trust: 'first' | null;
  readonly setBy: OwnerId;
}

export const toolsetSet =
  (
    { toolset, tools, trust, setBy }: ReportedTools,
    store: (text: string) => TaskEither<Rejection, Content>,
  ): TaskEither<Rejection, Extract<Ingress, { readonly kind: 'ToolsetSet' }>> =>
  async () => {
    const stored: ToolsetTool[] = [];
    for (const { definition, spec } of tools) {
      const content = await store(definition)();
      if (isLeft(content)) return content;
      stored.push({ definition: content.right, spec });
    }
    const event = { kind: 'ToolsetSet', toolset, owner: setBy, tools: stored } as const;
    return right(trust === null ? event : { ...event, trust });
  };
