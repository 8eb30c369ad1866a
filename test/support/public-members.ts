// What an editor shows of a public entry: the declarations that it exports, and those that these name, each with its members
// and whether they have a doc comment. Reads syntax only; types that a codec derives have no declaration of their own.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { inRepository } from './documents.ts';

export interface PublicName {
  /** `src/client/client.ts: EngineClient.follow`, or without a member the declaration itself. */
  readonly name: string;
  readonly isDocumented: boolean;
}

/** Everything that these entries, paths of modules, let an editor show, of the modules that `isOurs` lets through. */
export function publicNames(entries: readonly string[], isOurs: (path: string) => boolean): readonly PublicName[] {
  const modules = new Map<string, Module>();
  const moduleAt = (path: string): Module => {
    const known = modules.get(path) ?? readModule(path, isOurs(path) ? readSource(path) : '');
    modules.set(path, known);
    return known;
  };
  const seen = new Set<ts.Node>();
  const found: PublicName[] = [];
  const visit = (path: string, name: string): void => {
    const { declared, imported, source } = moduleAt(path);
    const elsewhere = imported.get(name);
    if (elsewhere !== undefined) visit(elsewhere.path, elsewhere.name);
    for (const declaration of declared.get(name) ?? []) {
      if (seen.has(declaration)) continue;
      seen.add(declaration);
      const named = new Set<string>();
      found.push(...namesOf(declaration, `${path}: ${name}`, source, named));
      for (const other of named) visit(path, other);
    }
  };
  for (const entry of entries) for (const name of moduleAt(entry).exported) visit(entry, name);
  return found;
}

type Declaration =
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.ClassDeclaration
  | ts.FunctionDeclaration
  | ts.VariableStatement;

interface Module {
  readonly source: ts.SourceFile;
  /** The overloads of a function are several declarations. */
  readonly declared: ReadonlyMap<string, readonly Declaration[]>;
  readonly imported: ReadonlyMap<string, { readonly path: string; readonly name: string }>;
  /** What it exports, under the names that it has in the module. */
  readonly exported: readonly string[];
}

const readSource = (path: string): string => readFileSync(inRepository(path), 'utf8');

function readModule(path: string, text: string): Module {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const declared = new Map<string, Declaration[]>();
  const imported = new Map<string, { readonly path: string; readonly name: string }>();
  const exported: string[] = [];
  const bind = (specifier: ts.Expression | undefined, name: string, theirs: string): void => {
    // Another package documents its own.
    if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith('.')) return;
    imported.set(name, { path: join(dirname(path), specifier.text), name: theirs });
  };
  for (const statement of source.statements) {
    for (const { name, propertyName } of bindingsOf(statement)) {
      const { moduleSpecifier } = statement as ts.ImportDeclaration | ts.ExportDeclaration;
      bind(moduleSpecifier, name.text, (propertyName ?? name).text);
      if (ts.isExportDeclaration(statement)) exported.push(name.text);
    }
    if (!isDeclaration(statement)) continue;
    const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    for (const name of declaredNames(statement)) {
      declared.set(name, [...(declared.get(name) ?? []), statement]);
      if (isExported) exported.push(name);
    }
  }
  return { source, declared, imported, exported };
}

/** The names that an import binds, or an export lists. */
function bindingsOf(statement: ts.Statement): readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] {
  if (ts.isImportDeclaration(statement)) {
    const bindings = statement.importClause?.namedBindings;
    return bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : [];
  }
  if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined) return [];
  return ts.isNamedExports(statement.exportClause) ? statement.exportClause.elements : [];
}

const isDeclaration = (node: ts.Node): node is Declaration =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isVariableStatement(node);

const declaredNames = (node: Declaration): readonly string[] =>
  ts.isVariableStatement(node)
    ? node.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []))
    : node.name === undefined
      ? []
      : [node.name.text];

/** The declaration and its members; `named` gets the names of the types that its declaration file mentions. */
function namesOf(
  declaration: Declaration,
  name: string,
  source: ts.SourceFile,
  named: Set<string>,
): readonly PublicName[] {
  const found: PublicName[] = [{ name, isDocumented: hasComment(declaration, source) }];
  const walk = (node: ts.Node, inside: string): void => {
    if (isOpaque(node)) return;
    const mentioned = mentionedIn(node);
    if (mentioned !== null) named.add(mentioned);
    const isMember = ts.isPropertySignature(node) || ts.isMethodSignature(node) || isClassMember(node);
    const own = isMember ? `${inside}.${(node.name as ts.Node).getText(source)}` : inside;
    if (isMember) found.push({ name: own, isDocumented: isTag(node) || hasComment(node, source) });
    // What a value is made of is not in its type.
    if (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) {
      if (node.type !== undefined) walk(node.type, own);
    } else ts.forEachChild(node, (part) => walk(part, own));
  };
  walk(declaration, name);
  return found;
}

/** The name of a type that a reference to it, or a heritage clause, mentions. */
function mentionedIn(node: ts.Node): string | null {
  if (ts.isTypeReferenceNode(node)) return ts.isIdentifier(node.typeName) ? node.typeName.text : null;
  return ts.isExpressionWithTypeArguments(node) && ts.isIdentifier(node.expression) ? node.expression.text : null;
}

/** A body and a private member are not shown; of a type that is computed, what comes out of it. */
const isOpaque = (node: ts.Node): boolean =>
  ts.isBlock(node) || ts.isConditionalTypeNode(node) || ts.isMappedTypeNode(node) || isHidden(node);

const isClassMember = (
  node: ts.Node,
): node is ts.PropertyDeclaration | ts.MethodDeclaration | ts.GetAccessorDeclaration =>
  ts.isPropertyDeclaration(node) || ts.isMethodDeclaration(node) || ts.isGetAccessorDeclaration(node);

const isHidden = (node: ts.Node): boolean =>
  (isClassMember(node) && ts.isPrivateIdentifier(node.name)) ||
  (ts.canHaveModifiers(node) &&
    ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) === true);

/** A field with one value, such as `type: 'text'`, or the name of an error class, says what it is itself. */
const isTag = (node: ts.Node): boolean =>
  (ts.isPropertySignature(node) && node.type !== undefined && ts.isLiteralTypeNode(node.type)) ||
  (ts.isPropertyDeclaration(node) && node.name.getText() === 'name');

const hasComment = (node: ts.Node, source: ts.SourceFile): boolean =>
  (ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []).some(({ pos }) =>
    source.text.startsWith('/**', pos),
  );
