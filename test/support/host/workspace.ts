// A fresh workspace for one test, and a host that runs in it.
import { chownSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Host, type HostOptions, openHost } from '../../../bridge/host/open-host.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import type { HostCallContext } from '../../../bridge/host/tool.ts';
import type { JsonObject } from '../../../schemas/json.ts';

/** The owner of test workspaces when the tests run as root, so that commands can write there. */
const NOBODY = 65_534;

export interface TestWorkspace {
  readonly path: string;
  /** The host's own directory, outside the workspace. */
  readonly tempDir: string;
  at(name: string): string;
  write(name: string, content: string | Uint8Array): void;
  read(name: string): string;
  /** Every file and directory of the workspace, sorted; directories end in a slash. */
  list(): readonly string[];
  remove(): void;
}

export function makeWorkspace(files: Readonly<Record<string, string | Uint8Array>> = {}): TestWorkspace {
  const base = mkdtempSync(join(tmpdir(), 'refold-test-'));
  const path = join(base, 'workspace');
  const at = (name: string): string => join(path, name);
  const chown = (target: string): void => {
    if (process.getuid?.() === 0) chownSync(target, NOBODY, NOBODY);
  };
  mkdirSync(path);
  for (const target of [base, path]) chown(target);
  const workspace: TestWorkspace = {
    path,
    tempDir: join(base, 'host'),
    at,
    write(name, content) {
      mkdirSync(dirname(at(name)), { recursive: true });
      for (let parent = dirname(at(name)); parent !== path; parent = dirname(parent)) chown(parent);
      writeFileSync(at(name), content);
      chown(at(name));
    },
    read: (name) => readFileSync(at(name), 'utf8'),
    list: () => listBelow(path, '').sort(),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
  for (const [name, content] of Object.entries(files)) workspace.write(name, content);
  return workspace;
}

// Links are listed, not followed: one may lead to /etc.
function listBelow(root: string, below: string): string[] {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const name = `${below}${entry.name}`;
    return entry.isDirectory() ? [`${name}/`, ...listBelow(root, `${name}/`)] : [name];
  });
}

export interface TestHost extends Host {
  readonly workspace: TestWorkspace;
  /** Runs a tool with generous limits, unless `context` sets others. */
  call(toolId: string, args: JsonObject, context?: Partial<HostCallContext>): Promise<HostOutcome>;
  end(): Promise<void>;
}

export async function makeHost(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  options: Partial<HostOptions> = {},
): Promise<TestHost> {
  const workspace = makeWorkspace(files);
  const host = await openHost({
    workspace: workspace.path,
    tempDir: workspace.tempDir,
    now: () => 1_000,
    ...options,
  });
  return {
    ...host,
    workspace,
    call: (toolId, args, context) => host.run(toolId, args, { ...callContext(), ...context }),
    async end() {
      await host.close();
      workspace.remove();
    },
  };
}

/** Runs a test with a host over these files, and ends it. */
export async function withHost(
  files: Readonly<Record<string, string>>,
  use: (host: TestHost) => Promise<void>,
): Promise<void> {
  const host = await makeHost(files);
  try {
    await use(host);
  } finally {
    await host.end();
  }
}

export const callContext = (): HostCallContext => ({
  sessionId: 's-1',
  signal: new AbortController().signal,
  timeoutMs: 30_000,
  outputBytesMax: 262_144,
});
