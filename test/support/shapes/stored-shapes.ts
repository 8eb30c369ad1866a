// The JSON Schemas of everything that is stored or sent, cut at their titles: each named shape once, nested ones by
// reference, so that a change of one shape is a change of one small file.
import { eventCodec, INGRESS_KINDS } from '../../../schemas/event.ts';
import * as schemas from '../../../schemas/index.ts';
import type { Json, JsonObject } from '../../../schemas/json.ts';

/** Shapes by name, in order of name. A nested shape is `{ "$ref": "Name" }`. */
export type Shapes = ReadonlyMap<string, JsonObject>;

/** Every exported codec of a shape, every kind of recorded event, and every shape inside them. */
export function storedShapes(): Shapes {
  const shapes = new Map<string, JsonObject>();
  for (const kind of INGRESS_KINDS) addShape(shapes, kind, eventCodec(kind).jsonSchema);
  for (const [name, value] of Object.entries(schemas)) {
    if (value instanceof schemas.Codec && /^[A-Z]/.test(name)) addShape(shapes, name, value.jsonSchema);
  }
  return new Map([...shapes].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Adds a shape and those inside it, and returns its name: with its owner's name before it if another one has it. */
function addShape(shapes: Map<string, JsonObject>, name: string, schema: JsonObject, owner?: string): string {
  const { title: _title, ...shape } = schema;
  const cut = cutAtTitles(shapes, shape, name) as JsonObject;
  const known = shapes.get(name);
  if (known === undefined) shapes.set(name, cut);
  else if (JSON.stringify(known) !== JSON.stringify(cut)) {
    if (owner === undefined) throw new Error(`two shapes are named ${name}: rename one of the codecs`);
    return addShape(shapes, `${owner}.${name}`, schema);
  }
  return name;
}

function cutAtTitles(shapes: Map<string, JsonObject>, value: Json, owner: string): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => cutAtTitles(shapes, item, owner));
  const object = value as JsonObject;
  const { title } = object;
  if (typeof title === 'string') return { $ref: addShape(shapes, title, object, owner) };
  return Object.fromEntries(Object.entries(object).map(([key, item]) => [key, cutAtTitles(shapes, item, owner)]));
}
