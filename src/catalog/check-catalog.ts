// What is right in form and yet likely to mislead a model: names that are easily confused, and arguments that no text explains.
import { isPlainObject } from '../../schemas/json.ts';
import { defaultToolPackage } from '../toolsets/default-package.ts';
import type { PlacedTool } from './read-catalog.ts';

export interface CatalogWarning {
  readonly code: 'near_collision' | 'field_not_described';
  readonly file: string;
  readonly at: string;
  readonly message: string;
}

/** In the order of the tools; each pair of names once. */
export function catalogWarnings(tools: readonly PlacedTool[]): readonly CatalogWarning[] {
  return [...nearCollisions(tools), ...undescribed(tools)];
}

function nearCollisions(tools: readonly PlacedTool[]): readonly CatalogWarning[] {
  const own = defaultToolPackage().registry.map(({ tool_name, tool_id }) => ({ name: tool_name, of: tool_id }));
  return tools.flatMap(({ spec, file, at, name }, index) => {
    const others = [
      ...own,
      ...tools.slice(index + 1).map((other) => ({ name: other.spec.tool_name, of: other.spec.tool_id })),
    ];
    return others
      .map((other) => ({ other, how: likenessOf(spec.tool_name, other.name) }))
      .filter(({ how }) => how !== null)
      .map(({ other, how }) => ({
        code: 'near_collision' as const,
        file,
        at,
        message: `"${name}" and ${other.name} (${other.of}) ${how}, so a model may take one for the other; rename one`,
      }));
  });
}

/** How two names are alike; null when they are not. */
export function likenessOf(a: string, b: string): string | null {
  const [one, two] = [plainOf(a), plainOf(b)];
  if (one === two) return 'differ in case and separators alone';
  const most = Math.min(one.length, two.length) >= 8 ? 2 : 1;
  // In a name of three characters, one other character makes another word.
  if (Math.min(one.length, two.length) < 4 || Math.abs(one.length - two.length) > most) return null;
  const distance = editDistance(one, two);
  return distance <= most ? `differ in ${distance === 1 ? 'one character' : `${distance} characters`}` : null;
}

const plainOf = (name: string): string => name.toLowerCase().replaceAll(/[_.-]/g, '');

/** Characters that are inserted, deleted or replaced, or swapped with the next one (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min(replaced, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}

/** An argument is described when the description of the tool names it, or its schema has a description of its own. */
function undescribed(tools: readonly PlacedTool[]): readonly CatalogWarning[] {
  return tools.flatMap(({ spec, file, at, name }) => {
    const properties = spec.input_schema['properties'];
    const fields = Object.entries(isPlainObject(properties) ? properties : {});
    return fields
      .filter(([field, schema]) => !isNamed(field, spec.description) && !hasDescription(schema))
      .map(([field]) => ({
        code: 'field_not_described' as const,
        file,
        at,
        message: `the description of "${name}" leaves out the argument "${field}"; say what it means`,
      }));
  });
}

const hasDescription = (schema: unknown): boolean =>
  isPlainObject(schema) && typeof schema['description'] === 'string' && schema['description'].trim() !== '';

function isNamed(field: string, text: string): boolean {
  const quoted = field.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, '\\$&');
  return new RegExp(`(?<![A-Za-z0-9_])${quoted}(?![A-Za-z0-9_])`, 'i').test(text);
}
