// Every host tool that takes a path, whatever it does with it: no path leads out of the workspace, and no byte of a file
// outside is returned or changed. The tools come from their specs, so that a new one is in this test from its first day.
import { linkSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../../schemas/json.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { hostTools } from '../../../src/toolsets/host-tools.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';

const OUTSIDE = 'OUTSIDE-CONTENT';
/** Names of arguments that hold one path. A patch, which holds many, has its own tests. */
const PATH_ARGUMENTS = ['path', 'cwd'];

/** These tell that a name is there, and open nothing. */
const TELLS_NAMES: ReadonlySet<string> = new Set(['host.fs.stat', 'host.fs.exists']);

interface Property {
  readonly type?: string;
}

const propertiesOf = (tool: ToolSpec): Readonly<Record<string, Property>> =>
  tool.input_schema['properties'] as Readonly<Record<string, Property>>;

const pathArgument = (tool: ToolSpec): string | undefined =>
  PATH_ARGUMENTS.find((name) => Object.hasOwn(propertiesOf(tool), name));

/** Arguments of a call: the path, and a small value for each required argument; texts differ, and are in the file outside. */
function argumentsFor(tool: ToolSpec, path: string): JsonObject {
  const values: Readonly<Record<string, Json>> = { array: ['true'], boolean: true, integer: 1, object: {} };
  const required = tool.input_schema['required'] as readonly string[];
  const given = required.map((name, index): [string, Json] => {
    const value = values[propertiesOf(tool)[name]?.type ?? 'string'];
    return [name, value ?? OUTSIDE.slice(0, 5 + index)];
  });
  return { ...Object.fromEntries(given), [pathArgument(tool) ?? 'path']: path };
}

const tools = hostTools().filter((tool) => pathArgument(tool) !== undefined);

let host: TestHost;
let outside: string;
beforeAll(async () => {
  host = await makeHost({ 'file.txt': 'inside' }, { sandbox: 'none' });
  outside = join(host.workspace.path, '..', 'outside.txt');
  writeFileSync(outside, OUTSIDE);
  symlinkSync(outside, host.workspace.at('link'));
  symlinkSync(join(host.workspace.path, '..'), host.workspace.at('up'));
  linkSync(outside, host.workspace.at('twin.txt'));
  await host.call('host.session.open', {});
});
afterAll(() => host.end());

describe.each(tools.map((tool) => [tool.tool_id, tool] as const))('%s', (toolId, tool) => {
  test.each([
    ['a path that leaves the workspace', '../outside.txt'],
    ['a path that leaves it on the way', 'file.txt/../../outside.txt'],
    ['an absolute path', '/etc/passwd'],
    ['a symbolic link', 'link'],
    ['a path through a symbolic link', 'up/outside.txt'],
    ['a NUL byte', 'a\0b'],
    ['a name that is too long', 'n'.repeat(300)],
    ['a path that is too deep', 'd/'.repeat(70)],
  ])('refuses %s', async (_, path) => {
    const outcome = await host.call(toolId, argumentsFor(tool, path));
    expect(outcome).toMatchObject({ success: false, code: expect.stringMatching(/forbidden|invalid_path/) as unknown });
    expect(outcome.text).not.toContain(OUTSIDE);
  });

  test('does not open a file that has a second name outside', async () => {
    const outcome = await host.call(toolId, argumentsFor(tool, 'twin.txt'));
    expect(outcome.success).toBe(TELLS_NAMES.has(toolId));
    expect(JSON.stringify([outcome.text, outcome.data])).not.toContain(OUTSIDE);
    expect(readFileSync(outside, 'utf8')).toBe(OUTSIDE);
  });
});

test('every argument that is claimed as a path is tried', () => {
  const claimed = hostTools().flatMap((tool) => tool.parallelism_hint.claims ?? []);
  const paths = new Set(claimed.filter(({ form }) => form === 'path').map(({ argument }) => argument));
  expect(
    [...paths].filter((name) => !PATH_ARGUMENTS.includes(name)).map((name) => `add "${name}" to PATH_ARGUMENTS`),
  ).toEqual([]);
  expect(tools.length).toBeGreaterThan(8);
});
