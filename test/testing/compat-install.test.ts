// `npm run compat` installs what its lock file says, says when it cannot, and fails in CI then.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { at, runNode } from '../determinism/run-tool.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refold-compat-'));
  await mkdir(join(folder, 'node_modules'));
  await writeFile(join(folder, 'package-lock.json'), '{}');
});

afterEach(() => rm(folder, { recursive: true }));

/** Installs the folder with an npm that ends so; prints how often it ran and what came of it, or what was thrown. */
const install = async (status: number, stderr: string, times = 1): Promise<unknown> => {
  const { stdout } = await runNode([
    '--input-type=module',
    '-e',
    `import { installFolder } from ${JSON.stringify(at('tools/compat/install.mjs'))};
    let ran = 0;
    const npm = (args) => ((ran += 1), { status: ${status}, stderr: ${JSON.stringify(stderr)} });
    const ends = [];
    for (let i = 0; i < ${times}; i += 1) {
      try { ends.push(installFolder(${JSON.stringify(folder)}, npm)); } catch (error) { ends.push(error.message); }
    }
    console.log(JSON.stringify({ ran, ends }));`,
  ]);
  return JSON.parse(stdout);
};

test('installs once for each state of the lock file', async () => {
  expect(await install(0, '', 2)).toEqual({ ran: 1, ends: [{}, {}] });
  await writeFile(join(folder, 'package-lock.json'), '{ }');
  expect(await install(0, '')).toEqual({ ran: 1, ends: [{}] });
});

test.each(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED'])('says that the registry is unreachable: %s', async (code) => {
  expect(await install(1, `npm error code ${code}\n`, 2)).toEqual({
    ran: 2,
    ends: [{ unreachable: code }, { unreachable: code }],
  });
});

test('takes any other failure for a fault, with the words of npm', async () => {
  const { ends } = (await install(1, 'npm error code EUSAGE\nout of sync')) as { readonly ends: readonly string[] };
  expect(ends[0]).toContain('npm error code EUSAGE\nout of sync');
});

test('the lock file names no registry, and exact versions', async () => {
  expect((await readFile(at('compat/package-lock.json'), 'utf8')).includes('"resolved"')).toBe(false);
  const { devDependencies } = JSON.parse(await readFile(at('compat/package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  for (const version of Object.values(devDependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
});
