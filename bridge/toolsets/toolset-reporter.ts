// Makes sure that a session has the toolsets of this bridge before its model is asked. The sessions of a bridge are those whose
// generates it leases. When nothing has changed since the session was last in step, this costs a look into a map; else one
// reading of the session, and a report for each toolset that differs from what is recorded.
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { digestJson } from '../../schemas/canonical.ts';
import type { Content } from '../../schemas/content.ts';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import { type Digest, type SessionId, brand } from '../../schemas/ids.ts';
import { TOOLSET_REFUSALS_MAX, TOOLSET_REPORTS_MAX, TOOLSET_SESSIONS_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { definitionDigest } from '../../schemas/toolset.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { effects } from '../../src/core/effects.ts';
import type { Link } from '../engine-link/link.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import { type PutBlob, contentOf } from '../engine-link/text-content.ts';
import type { Log } from '../log.ts';
import type { OfferedTool, OfferedToolset, ToolsetSource } from './toolset-source.ts';

type Generate = EffectOfKind<'llm.generate'>;

export interface ToolsetReporter {
  /** The generate as it is owed once the session has the toolsets. Never rejects. */
  inStep(effect: Generate): Promise<Generate>;
}

interface ReporterOptions {
  readonly sources: readonly ToolsetSource[];
  readonly client: Pick<EngineClient, 'session'>;
  readonly link: Link;
  readonly outbox: Pick<Outbox, 'report'>;
  readonly putBlob: PutBlob;
  readonly log: Log;
}

export function newToolsetReporter(options: ReporterOptions): ToolsetReporter {
  const { sources } = options;
  /** The versions of the sources with which each session is in step, the one that was asked for last at the end. */
  const inStepWith = new Map<SessionId, string>();

  function note(session: SessionId, versions: string): void {
    inStepWith.delete(session);
    inStepWith.set(session, versions);
    const [oldest] = inStepWith.keys();
    if (inStepWith.size > TOOLSET_SESSIONS_MAX && oldest !== undefined) inStepWith.delete(oldest);
  }

  return {
    async inStep(effect) {
      if (sources.length === 0) return effect;
      await Promise.all(sources.map((source) => source.ready()));
      const versions = sources.map((source) => source.version()).join(' ');
      if (inStepWith.get(effect.session_id) === versions) return effect;
      const state = await stateOf(options, effect.session_id);
      if (state === null) return effect;
      const differences = sources.flatMap((source) =>
        missingIn(state, source).map((offered) => ({ effect, state, source, offered })),
      );
      const answers = await setAll(options, differences);
      if (!answers.includes('late')) note(effect.session_id, versions);
      return answers.includes('set') ? await owedNow(options, effect) : effect;
    },
  };
}

/** Reports several at once: each commit digests the registry of the session anew. */
async function setAll(options: ReporterOptions, differences: readonly Difference[]): Promise<readonly Answered[]> {
  const waiting = [...differences];
  const answers: Answered[] = [];
  const reportNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      answers.push(await setToolset(options, next));
  };
  await Promise.all(Array.from({ length: TOOLSET_REPORTS_MAX }, reportNext));
  return answers;
}

/** `late`: the run or the lease has gone on meanwhile, so that it is reported with a later generate. */
type Answered = 'set' | 'refused' | 'late';

async function stateOf({ client, link }: ReporterOptions, session: SessionId): Promise<SessionState | null> {
  const view = await link.ask('session', () => client.session(session));
  return isLeft(view) ? null : view.right.state;
}

/** The generate with the tools that are offered now. */
async function owedNow(options: ReporterOptions, effect: Generate): Promise<Generate> {
  const state = await stateOf(options, effect.session_id);
  const owed = state === null ? [] : effects(state);
  const same = owed.find(
    (other): other is Generate => other.kind === 'llm.generate' && other.effect_id === effect.effect_id,
  );
  return same ?? effect;
}

/** The toolsets that are recorded in another way, with those that the source no longer has. */
function missingIn({ toolsets = {} }: SessionState, source: ToolsetSource): readonly OfferedToolset[] {
  const named = new Set(source.names());
  const gone = Object.entries(toolsets).filter(
    ([name, { owner, tools }]) => owner === source.owner && !named.has(name) && Object.keys(tools).length > 0,
  );
  const differing = source.toolsets().filter(({ toolset, tools }) => {
    const recorded = toolsets[toolset];
    if (recorded === undefined) return tools.length > 0;
    if (recorded.owner !== source.owner) return true;
    const now = Object.fromEntries(tools.map(({ spec, definition }) => [spec.tool_id, digestOf(definition)]));
    return digestJson(now) !== digestJson(recorded.tools);
  });
  return [...differing, ...gone.map(([toolset]) => ({ toolset, tools: [], trust: null }))];
}

const digestOf = (definition: string): Digest => definitionDigest({ text: definition });

/** A toolset that the session has in another way, found before this generate. */
interface Difference {
  readonly effect: Generate;
  readonly state: SessionState;
  readonly source: ToolsetSource;
  readonly offered: OfferedToolset;
}

/** A tool that the engine refuses is left out, and the others stay; the log says which, and why. */
async function setToolset(options: ReporterOptions, { effect, state, source, offered }: Difference): Promise<Answered> {
  const { outbox, log, putBlob } = options;
  const { session_id, updated_at_ms } = state;
  const { toolset, tools, trust } = offered;
  const generate = { run_id: effect.run_id, turn: effect.turn };
  let kept = await Promise.all(
    tools.map(async (tool) => ({ definition: await definitionOf(tool, putBlob), spec: tool.spec })),
  );
  for (let refusals = 0; ; refusals += 1) {
    const body = { toolset, owner: source.owner, tools: kept, generate, ...(trust === null ? {} : { trust }) };
    const id = digestJson([
      session_id,
      updated_at_ms,
      toolset,
      kept.map(({ spec, definition }) => [spec.tool_id, definitionDigest(definition)]),
    ]);
    const event: Ingress = { kind: 'ToolsetSet', event_id: brand(`toolset/${id}`), ...body };
    const answer = await outbox.report(session_id, event, effect.effect_id);
    if (isRight(answer)) {
      log({ event: 'toolset_set', session_id, toolset, tools: kept.length });
      return 'set';
    }
    const at = refusedTool(answer.left);
    const { code, message } = answer.left;
    const refused = at === null || refusals === TOOLSET_REFUSALS_MAX ? undefined : kept[at];
    const leftOut = refused === undefined ? {} : { left_out: refused.spec.tool_id };
    log({ event: 'toolset_refused', session_id, toolset, code, message, ...leftOut });
    if (refused === undefined) return FINAL.has(code) ? 'refused' : 'late';
    kept = kept.filter((tool) => tool !== refused);
  }
}

/** Refusals that are about the toolset itself, and stay. */
const FINAL: ReadonlySet<string> = new Set<Rejection['code']>(['registry_invalid', 'toolset_owned', 'toolsets_full']);

/** A long definition is a blob, so that a report fits a request. */
const definitionOf = ({ definition }: OfferedTool, putBlob: PutBlob): Promise<Content> =>
  contentOf(definition, putBlob, DEFINITION_INLINE_CHARS);

const DEFINITION_INLINE_CHARS = 1_024;

/** The tool for which the engine refused all of them: the path of the rejection names it. */
function refusedTool({ code, path }: Rejection): number | null {
  const found = /^\/(?:events\/0\/)?tools\/(\d+)(?:\/|$)/.exec(path)?.[1];
  return code === 'registry_invalid' && found !== undefined ? Number(found) : null;
}
