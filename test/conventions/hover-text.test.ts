// Every public field has a doc comment, which editors show.
import { expect, test } from 'vitest';
import { readDocument } from '../support/documents.ts';
import { publicNames } from '../support/public-members.ts';

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
}

/** The entries for programs that use or embed an engine, as modules: `./dist/src/index.js` is `src/index.ts`. */
async function entries(): Promise<readonly string[]> {
  const { exports } = JSON.parse(await readDocument('package.json')) as Manifest;
  const modules = Object.values(exports).flatMap((path) => /^\.\/dist\/(.*)\.js$/.exec(path)?.[1] ?? []);
  return modules
    .filter((path) => /^(src\/index|src\/client\/|bridge\/|embed\/)/.test(path))
    .map((path) => `${path}.ts`);
}

// Types that a codec derives are described by their codec.
const isOurs = (path: string): boolean => /^(?:src|bridge|embed)\//.test(path);

test('every field of what these entries export, and of what that names, says what it is', async () => {
  const names = publicNames(await entries(), isOurs).filter(({ name }) => /: .*\./.test(name));
  expect(names.length).toBeGreaterThan(200);
  expect(names.filter(({ isDocumented }) => !isDocumented).map(({ name }) => name)).toEqual([]);
});
