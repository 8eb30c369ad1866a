// The declarations of every sub-path compile, with everything that they import, in projects that check libraries; and the
// tests of this folder have the types that they claim.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMPAT, type Consumer, ROOT, SUB_PATHS, openConsumer, runNode } from './support/consumer.ts';

const COMPILERS = {
  'TypeScript 6': join(ROOT, 'node_modules/typescript/bin/tsc'),
  'TypeScript 7': join(COMPAT, 'node_modules/typescript/bin/tsc'),
} as const;
const COMPILER_OPTIONS =
  '--noEmit --strict --exactOptionalPropertyTypes --target es2023 --lib es2023 --skipLibCheck false';

let consumer: Consumer;

beforeAll(async () => {
  consumer = await openConsumer(['@types/node', 'fast-check']);
  const exports = SUB_PATHS.map((path, index) => `export * as _${index} from '${path}';\n`);
  await writeFile(join(consumer.folder, 'all.ts'), exports.join(''));
  await writeFile(join(consumer.folder, 'wrong.ts'), `import { tool } from 'refold/agent';\ntool('refund');\n`);
});

afterAll(() => consumer.remove());

const compile = (compiler: keyof typeof COMPILERS, [module, resolution]: readonly [string, string], file: string) => {
  const resolved = ['--module', module, '--moduleResolution', resolution, '--types', 'node'];
  return runNode([COMPILERS[compiler], ...COMPILER_OPTIONS.split(' '), ...resolved, file], consumer.folder);
};

const NODE = ['nodenext', 'nodenext'] as const;
const BUNDLER = ['esnext', 'bundler'] as const;

describe.each([
  ['TypeScript 6', 'as Node resolves', NODE],
  ['TypeScript 7', 'as Node resolves', NODE],
  ['TypeScript 7', 'as bundlers resolve', BUNDLER],
] as const)('%s, %s', (compiler, _, resolution) => {
  test('compiles the declarations of every sub-path', async () => {
    expect(await compile(compiler, resolution, 'all.ts')).toEqual({ code: 0, printed: '' });
  });
});

test('a wrong use is an error, so that the declarations are not ignored', async () => {
  const { code, printed } = await compile('TypeScript 7', NODE, 'wrong.ts');
  expect(code).not.toBe(0);
  expect(printed).toContain('wrong.ts(2,6): error TS2345');
});

test('the tests of this folder have the types that they claim', async () => {
  expect(await runNode([COMPILERS['TypeScript 6'], '-p', COMPAT], COMPAT)).toEqual({ code: 0, printed: '' });
});
