// Conventions of this repository that no linter checks (CONTRIBUTING.md, "Rules").
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { repositoryPaths, sourceFiles } from './source-files.ts';

const PRODUCT = /^(schemas|reducers|src|bridge|embed)\/.*\.ts$/;
const parsed = sourceFiles(PRODUCT).map(({ path, text }) => ({
  path,
  source: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true),
}));

describe('fp-ts', () => {
  test('a function with two or more fallible steps composes them with pipe', () => {
    const offenders = parsed.flatMap(({ path, source }) =>
      earlyReturns(source)
        .filter(({ count }) => count > 1)
        .map(({ line, count }) => `${path}:${line} returns early on isLeft ${count} times: use pipe`),
    );
    expect(offenders).toEqual([]);
  });

  test('the check finds a function that returns early twice', () => {
    const code = `
      function load() {
        const a = one();
        if (isLeft(a)) return a;
        const b = two(a.right);
        if (isLeft(b)) { return left(b.left); }
        return b;
      }`;
    const source = ts.createSourceFile('x.ts', code, ts.ScriptTarget.Latest, true);
    expect(earlyReturns(source)).toEqual([{ line: 2, count: 2 }]);
  });
});

/** How often each function returns early after a failed step, nested functions excluded; a loop that does so counts once. */
function earlyReturns(source: ts.SourceFile): readonly { readonly line: number; readonly count: number }[] {
  const found: { line: number; count: number }[] = [];
  const visit = (node: ts.Node, own: { count: number } | null): void => {
    if (ts.isFunctionLike(node)) {
      const inner = { line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, count: 0 };
      ts.forEachChild(node, (child) => visit(child, inner));
      if (inner.count > 0) found.push(inner);
    } else if (own !== null && ts.isIterationStatement(node, false)) {
      const looped = { count: 0 };
      ts.forEachChild(node, (child) => visit(child, looped));
      own.count += Math.min(1, looped.count);
    } else {
      if (own !== null && ts.isIfStatement(node) && isFailure(node.expression) && returns(node.thenStatement))
        own.count += 1;
      ts.forEachChild(node, (child) => visit(child, own));
    }
  };
  visit(source, null);
  return found;
}

const isFailure = (condition: ts.Expression): boolean =>
  ts.isCallExpression(condition) && /^(E\.)?isLeft$/.test(condition.expression.getText());

const returns = (statement: ts.Statement): boolean =>
  ts.isReturnStatement(statement) || (ts.isBlock(statement) && statement.statements.some(ts.isReturnStatement));

/** The two implementations of this function are chosen by an import condition. */
const IMPLEMENTED_TWICE = new Set(['sha256Hex', 'durable', 'platform']);

describe('names', () => {
  test('no name is exported by two files', () => {
    const defined = new Map<string, string[]>();
    for (const { path, source } of parsed) {
      for (const statement of source.statements) {
        for (const name of exportedValues(statement)) defined.set(name, [...(defined.get(name) ?? []), path]);
      }
    }
    const twice = [...defined]
      .filter(([name, paths]) => paths.length > 1 && !IMPLEMENTED_TWICE.has(name))
      .map(([name, paths]) => `${name}: ${paths.join(', ')}`);
    expect(twice).toEqual([]);
  });
});

function exportedValues(statement: ts.Statement): readonly string[] {
  const exported =
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  if (exported !== true) return [];
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) return [statement.name?.text ?? ''];
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.map(({ name }) => name.getText());
}

describe('folders', () => {
  const paths = repositoryPaths();
  const folders = [
    ...new Set(paths.filter((path) => PRODUCT.test(path)).map((path) => path.split('/').slice(0, -1).join('/'))),
  ];

  test('only the public entry points are barrels', () => {
    const barrels = paths.filter((path) => PRODUCT.test(path) && path.endsWith('/index.ts'));
    const ofSrc = ['src/client/index.ts', 'src/core/index.ts', 'src/index.ts', 'src/testing/index.ts'];
    expect(barrels).toEqual([
      'bridge/index.ts',
      'embed/agent/index.ts',
      'embed/ai-sdk/index.ts',
      'embed/langgraph/index.ts',
      'embed/openai-agents/index.ts',
      'schemas/index.ts',
      ...ofSrc,
    ]);
  });

  test('bridge/ has at most fifteen entries: new files belong in its subfolders', () => {
    const names = new Set(paths.filter((path) => path.startsWith('bridge/')).map((path) => path.split('/')[1]));
    expect(names.size).toBeLessThanOrEqual(15);
  });

  test('no folder directly holds more than 35 files', () => {
    const crowded = folders
      .map((folder) => ({
        folder,
        files: paths.filter((path) => path.startsWith(`${folder}/`) && !path.slice(folder.length + 1).includes('/')),
      }))
      .filter(({ files }) => files.length > 35)
      .map(({ folder, files }) => `${folder}: ${files.length}`);
    expect(crowded).toEqual([]);
  });
});
