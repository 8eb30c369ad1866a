// A spec in the registry and an executor belong together: each spec of the default package has an executor, each
// executor has a spec, and both are found from the tool id.
import { describe, expect, test } from 'vitest';
import { HOST_TOOLS } from '../../bridge/host/host-tools.ts';
import { WORKFLOWS } from '../../reducers/workflows.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { defaultToolPackage } from '../../src/toolsets/default-package.ts';
import { readDocument } from '../support/documents.ts';

const { registry, profiles } = defaultToolPackage();
const workflowIds = registry.filter(isWorkflow).map((spec) => spec.tool_id);
/** Every tool that the fold does not run: the host must run it. */
const hostIds = registry.filter((spec) => !isWorkflow(spec)).map((spec) => spec.tool_id);

function isWorkflow({ executor }: ToolSpec): boolean {
  return executor.kind === 'workflow';
}

interface Side {
  readonly ids: readonly string[];
  /** What one entry of this side is, and the table it belongs in. */
  readonly entry: string;
}

/** For each id that one side lacks, a sentence that names the side and where to add it; empty when the sides are equal. */
function missing(left: Side, right: Side): readonly string[] {
  const lacks = (all: Side, some: Side): readonly string[] => {
    const known = new Set(some.ids);
    return all.ids.filter((id) => !known.has(id)).map((id) => `"${id}" has no ${some.entry}`);
  };
  return [...lacks(left, right), ...lacks(right, left)];
}

describe('every tool has a spec and an executor', () => {
  test('a host tool: a spec in src/toolsets, an executor in bridge/host', () => {
    const specs = { ids: hostIds, entry: 'spec: add one to hostTools() in src/toolsets/host-tools.ts' };
    const executors = {
      ids: [...HOST_TOOLS.keys()],
      entry: 'executor: add a row to HOST_TOOLS in bridge/host/host-tools.ts',
    };
    expect(missing(specs, executors)).toEqual([]);
  });

  test('a workflow tool: a spec in src/toolsets, a function in reducers', () => {
    const specs = { ids: workflowIds, entry: 'spec: add one to permissionTools() in src/toolsets/permission-tools.ts' };
    const workflows = {
      ids: Object.keys(WORKFLOWS),
      entry: 'function: add a row to WORKFLOWS in reducers/workflows.ts',
    };
    expect(missing(specs, workflows)).toEqual([]);
  });

  test('the executor of a spec names the tool id', () => {
    for (const { tool_id, executor } of registry) {
      expect([tool_id, executor]).toEqual([
        tool_id,
        executor.kind === 'workflow'
          ? { kind: 'workflow', workflow: tool_id }
          : { kind: 'effect', effect_kind: tool_id },
      ]);
    }
  });

  test('the function of a host tool is named after its tool id', () => {
    const nameOf = (toolId: string): string =>
      `${toolId.replace(/^host\.(fs\.)?/, '').replaceAll(/[._](\w)/g, (_, letter: string) => letter.toUpperCase())}Tool`;
    for (const [toolId, run] of HOST_TOOLS) expect([toolId, run.name]).toEqual([toolId, nameOf(toolId)]);
  });
});

test('every tool of the registry is in a profile, so that a model can see it', () => {
  const offered = new Set(profiles.flatMap(({ tool_ids }) => tool_ids));
  const hint = 'add it to a list in src/toolsets/default-package.ts';
  expect(registry.filter(({ tool_id }) => !offered.has(tool_id)).map(({ tool_id }) => `${tool_id}: ${hint}`)).toEqual(
    [],
  );
});

test('every workflow tool is in docs/consent.md, "What the model can ask"', async () => {
  const [, section = ''] = (await readDocument('docs/consent.md')).split('## What the model can ask\n');
  const words = section.split('\n## ')[0] ?? '';
  const names = registry.filter(isWorkflow).map(({ tool_name }) => tool_name);
  const lacking = names.filter((name) => !words.includes(`\`${name}\``));
  expect(lacking.map((name) => `${name}: say in docs/consent.md, "What the model can ask", what it answers`)).toEqual(
    [],
  );
});

test('the comparison names what is missing on either side', () => {
  expect(missing({ ids: ['a', 'b'], entry: 'left' }, { ids: ['b', 'c'], entry: 'right' })).toEqual([
    '"a" has no right',
    '"c" has no left',
  ]);
});
