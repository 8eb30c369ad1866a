// docs/limits.md lists every limit of schemas/limits.ts, with its value, and no other.
import { expect, test } from 'vitest';
import { limits } from '../../schemas/index.ts';
import { readDocument } from '../support/documents.ts';

test('the table of limits has every limit once, with its value', async () => {
  const text = await readDocument('docs/limits.md');
  const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| ([\d,]+) \| [^|]* \| [^|]+ \|$/gm)];
  const listed = rows.map(([, name = '', value = '']) => [name, Number(value.replaceAll(',', ''))] as const);
  const sorted = (entries: readonly (readonly [string, number])[]) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  expect(sorted(listed), 'the tables of docs/limits.md').toEqual(sorted(Object.entries(limits)));
});
