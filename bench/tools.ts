// The tools of the measured sessions: some of the default package, so that a state has about 19 kB, and two that do nothing.
// `noop` may be repeated; `once` may not, so its start is recorded before it runs.
import { defineTool } from '../schemas/define-tool.ts';
import { brand } from '../schemas/ids.ts';
import type { ToolPackage } from '../schemas/tool-set.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import { defaultToolPackage } from '../src/toolsets/default-package.ts';

const onPath = (access: 'read' | 'write'): ToolSpec['parallelism_hint'] => ({
  parallel_safe: true,
  claims: [{ space: 'fs', argument: 'path', form: 'path', access }],
});

const input_schema = {
  type: 'object',
  properties: { path: { type: 'string', minLength: 1, description: 'Path of the file.' } },
  required: ['path'],
};

const NOOP = defineTool({
  tool_id: 'bench.noop',
  tool_name: 'noop',
  description: 'Reads nothing of a file, at once.',
  input_schema,
  mode: 'read',
  read_only: true,
  destructive: false,
  idempotent: true,
  parallelism_hint: onPath('read'),
});

const ONCE = defineTool({
  tool_id: 'bench.once',
  tool_name: 'once',
  description: 'Writes nothing to a file, and may not do so twice.',
  input_schema,
  mode: 'safe_write',
  destructive: false,
  parallelism_hint: onPath('write'),
});

const HOST_TOOLS = 3;

/** One profile with every tool; the host tools stay out of the effective set while no host session is open. */
export function benchPackage(): ToolPackage {
  const registry = [...defaultToolPackage().registry.slice(0, HOST_TOOLS), NOOP, ONCE];
  const all = brand<'ProfileId'>('all');
  return {
    registry,
    profiles: [{ profile_id: all, tool_ids: registry.map(({ tool_id }) => tool_id) }],
    provider_profiles: [{ provider_contains: '', profile_id: all }],
  };
}
