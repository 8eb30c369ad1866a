// Writes the JSON Schema of every codec of `refold/schemas` into the build output, one file per codec.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as schemas from '../../schemas/index.ts';

const folder = fileURLToPath(new URL('../../json-schemas/', import.meta.url));
// A schema of an earlier build may have gone since.
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, value] of Object.entries(schemas)) {
  if (!(value instanceof schemas.Codec)) continue;
  const document = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:refold:schema:${name}`,
    ...value.jsonSchema,
    title: name,
  };
  writeFileSync(`${folder}${name}.json`, `${JSON.stringify(document, null, 2)}\n`);
}
