// Toolsets: how an event sets, approves and removes the tools of one source. What a source says of its tools is not trusted:
// a definition counts once an operator has approved it, by its digest.
import type { EventOfKind } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import { REGISTRY_TOOLS_MAX, TOOLSETS_MAX, TOOLSET_PINS_MAX } from '../../schemas/limits.ts';
import { pointerSegment, type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { type Toolset, definitionDigest } from '../../schemas/toolset.ts';
import { owesCompaction } from '../compaction.ts';
import { type NextState, inOrder, liveRun } from '../next-state.ts';
import { findToolsFault, registryOf } from '../registry.ts';
import { hasApprovals, knownToolset, toolsBeside } from './members.ts';

export function admitToolset(state: SessionState, event: EventOfKind<'ToolsetSet'>): Rejection | null {
  const { toolset, owner, tools } = event;
  const known = knownToolset(state.toolsets, toolset);
  if (known !== undefined && known.owner !== owner) {
    return reject('toolset_owned', '/owner', `${known.owner} sets the toolset "${toolset}", not ${owner}`);
  }
  if (known === undefined && Object.keys(state.toolsets ?? {}).length >= TOOLSETS_MAX) {
    return reject('toolsets_full', '/toolset', `the session has ${TOOLSETS_MAX} toolsets`);
  }
  const beside = toolsBeside(state, toolset);
  if (beside.length + tools.length > REGISTRY_TOOLS_MAX) {
    const others = `the session has ${beside.length} other tools`;
    return reject('toolsets_full', '/tools', `${others}; with these ${tools.length}, more than ${REGISTRY_TOOLS_MAX}`);
  }
  const foreign = tools.findIndex(({ spec }) => !spec.tool_id.startsWith(`${toolset}.`));
  if (foreign !== -1) {
    const message = `the id of a tool of "${toolset}" begins with "${toolset}."`;
    return reject('registry_invalid', `/tools/${foreign}/spec/tool_id`, message);
  }
  // The fold answers calls of a workflow itself and asks no one, so no source may name one.
  const workflow = tools.findIndex(({ spec }) => spec.executor.kind === 'workflow');
  if (workflow !== -1) {
    const message = 'a tool of a toolset is run by a bridge or a person, not by a workflow; give it another executor';
    return reject('registry_invalid', `/tools/${workflow}/spec/executor/kind`, message);
  }
  const specs = tools.map(({ spec }) => spec);
  return findToolsFault(specs, (index) => `/tools/${index}/spec`, beside) ?? findGenerateFault(state, event);
}

/** The generate that the event names must be the one that is owed: its offer is pinned anew. */
function findGenerateFault({ run }: SessionState, { generate }: EventOfKind<'ToolsetSet'>): Rejection | null {
  if (generate === undefined) return null;
  if (run === null) return reject('run_not_active', '/generate', 'no run is active');
  if (run.run_id !== generate.run_id) {
    return reject('wrong_run', '/generate/run_id', `${run.run_id} is active, not ${generate.run_id}`);
  }
  if (run.turn !== generate.turn) {
    return reject('wrong_turn', '/generate/turn', `the run is at turn ${run.turn}, not ${generate.turn}`);
  }
  if (run.phase === 'generating' && run.offer !== null && !owesCompaction(run)) return null;
  return reject('wrong_phase', '/generate', `no generate is owed while the run is ${run.phase}`);
}

export function admitApproval({ toolsets }: SessionState, event: EventOfKind<'ToolsetApproved'>): Rejection | null {
  const known = knownToolset(toolsets, event.toolset);
  if (known === undefined) return unknownToolset(event.toolset);
  for (const [id, digest] of Object.entries(event.tools)) {
    const path = `/tools${pointerSegment(id)}`;
    const present = Object.hasOwn(known.tools, id) ? known.tools[id] : undefined;
    if (present === undefined) return reject('tool_unknown', path, `the toolset has no tool "${id}"`);
    if (present !== digest) {
      return reject('definition_mismatch', path, `the digest of the definition of "${id}" is ${present}`);
    }
  }
  return null;
}

export const admitRemoval = ({ toolsets }: SessionState, event: EventOfKind<'ToolsetRemoved'>): Rejection | null =>
  knownToolset(toolsets, event.toolset) === undefined ? unknownToolset(event.toolset) : null;

const unknownToolset = (toolset: string): Rejection =>
  reject('toolset_unknown', '/toolset', `there is no toolset "${toolset}"`);

export function setToolset(next: NextState, event: EventOfKind<'ToolsetSet'>): void {
  const { toolset, owner, tools, trust, generate } = event;
  const present = inOrder(
    Object.fromEntries(tools.map(({ definition, spec }) => [spec.tool_id, definitionDigest(definition)])),
  );
  const known = knownToolset(next.toolsets, toolset);
  const before = known !== undefined && hasApprovals(known) ? known.pins : {};
  const pins = trust === 'first' && Object.keys(before).length === 0 ? present : before;
  const specs = tools.map(({ spec }) => spec);
  next.tool_registry = registryOf([...toolsBeside(next, toolset), ...specs]);
  putToolset(next, toolset, { owner, pins: boundedPins(pins, present), tools: present });
  // It is pinned anew with the tools that follow.
  if (generate !== undefined) next.run = { ...liveRun(next), offer: null };
}

export function approveToolset(next: NextState, { toolset, tools }: EventOfKind<'ToolsetApproved'>): void {
  const known = knownToolset(next.toolsets, toolset);
  if (known === undefined) return;
  putToolset(next, toolset, { ...known, pins: boundedPins({ ...known.pins, ...tools }, known.tools) });
}

export function removeToolset(next: NextState, { toolset }: EventOfKind<'ToolsetRemoved'>): void {
  next.tool_registry = registryOf(toolsBeside(next, toolset));
  const { [toolset]: _removed, ...others } = next.toolsets ?? {};
  if (Object.keys(others).length > 0) next.toolsets = others;
  else delete next.toolsets;
}

function putToolset(next: NextState, name: string, toolset: Toolset): void {
  next.toolsets = inOrder({ ...next.toolsets, [name]: toolset });
}

type Digests = Readonly<Record<string, Digest>>;

/** The pins in canonical order; beyond the bound, without the last of those whose tools went away. */
function boundedPins(pins: Digests, present: Digests): Digests {
  const ids = Object.keys(pins).sort();
  const gone = ids.filter((id) => !Object.hasOwn(present, id));
  const dropped = new Set(gone.slice(gone.length - Math.max(0, ids.length - TOOLSET_PINS_MAX)));
  return Object.fromEntries(ids.filter((id) => !dropped.has(id)).map((id) => [id, pins[id] as Digest]));
}
