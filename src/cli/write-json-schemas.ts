// Writes the JSON Schema of every codec of `refold/schemas` into the build output, one file per codec.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as schemas from '../../schemas/index.ts';

const folder = fileURLToPath(new URL('../../json-schemas/', import.meta.url));
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
