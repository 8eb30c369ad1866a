// The core runs in a browser: it bundles without Node modules, and folds a session to the same digests in a realm without
// Node globals.
import { readFile } from 'node:fs/promises';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { replay } from '../../src/core/index.ts';

const at = (path: string): string => new URL(`../../${path}`, import.meta.url).pathname;

test('the core bundles for a browser and replays a session there to the same digests', async () => {
  const bundle = await build({
    stdin: { contents: "export { replay } from './src/core/index.ts';", resolveDir: at(''), loader: 'ts' },
    alias: { '#sha256': at('schemas/sha256/noble.ts') },
    bundle: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'refold',
    write: false,
    metafile: true,
  });
  const inputs = Object.keys(bundle.metafile.inputs);
  expect(inputs.filter((input) => input.startsWith('node:') || input.includes('sha256/node'))).toEqual([]);
  expect(inputs.some((input) => input.includes('@noble/hashes'))).toBe(true);

  const text = await readFile(at('replay-fixtures/demo/session.jsonl'), 'utf8');
  const records = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as never);
  const inNode = replay(records);
  expect(inNode.divergence).toBeNull();

  const realm = createContext({ TextEncoder, lines: text.trimEnd().split('\n') });
  runInContext(bundle.outputFiles[0]?.text ?? '', realm);
  const answer = runInContext(
    'const { divergence, stateDigest, chain } = refold.replay(lines.map((line) => JSON.parse(line))); JSON.stringify({ divergence, stateDigest, chain })',
    realm,
  ) as string;
  expect(JSON.parse(answer)).toEqual({ divergence: null, stateDigest: inNode.stateDigest, chain: inNode.chain });
});
