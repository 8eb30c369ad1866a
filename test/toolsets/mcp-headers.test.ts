// Which schemas say rightly what of a call is copied into headers.
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../schemas/json.ts';
import { mcpHeaderFault } from '../../src/toolsets/mcp-headers.ts';

const of = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const named = (name: unknown, type = 'string'): JsonObject => ({ type, 'x-mcp-header': name }) as JsonObject;

describe('a schema can be used', () => {
  test.each<readonly [what: string, schema: JsonObject]>([
    ['without headers', of({ a: { type: 'object' } })],
    ['with a header for each kind of value', of({ a: named('A'), b: named('B', 'integer'), c: named('C', 'boolean') })],
    ['with a header for a part of an argument', of({ a: of({ b: named('Region') }) })],
    ['whose argument is called so', of({ 'x-mcp-header': { type: 'string' } })],
    ['whose definition is called so', of({}, { $defs: { 'x-mcp-header': { type: 'number' } } })],
    ['whose default looks like one', of({ a: { type: 'object', default: { 'x-mcp-header': '' } } })],
  ])('%s', (_what, schema) => expect(mcpHeaderFault(schema)).toBeNull());
});

describe('a schema cannot be used', () => {
  test.each<readonly [what: string, schema: JsonObject, why: RegExp]>([
    ['an empty name', of({ a: named('') }), /cannot name/],
    ['a name that is no text', of({ a: named(7) }), /cannot name/],
    ['a space', of({ a: named('My Region') }), /cannot name/],
    ['a colon', of({ a: named('Region:Primary') }), /cannot name/],
    ['a line end', of({ a: named('Region\r\nX: y') }), /cannot name/],
    ['a letter beyond ASCII', of({ a: named('Région') }), /cannot name/],
    ['a number', of({ a: named('Score', 'number') }), /no string, integer or boolean/],
    ['an object', of({ a: named('Data', 'object') }), /no string, integer or boolean/],
    ['no type', of({ a: { 'x-mcp-header': 'A' } }), /no string, integer or boolean/],
    ['one name twice', of({ a: named('Region'), b: named('Region') }), /twice/],
    ['one name in two spellings', of({ a: named('MyField'), b: of({ c: named('myfield') }) }), /twice/],
    ['the schema itself', { type: 'object', 'x-mcp-header': 'A' }, /not every call/],
    ['an item of a list', of({ a: { type: 'array', items: named('A') } }), /not every call/],
    ['one of several', of({ a: { anyOf: [named('A')] } }), /not every call/],
    ['a definition', of({}, { $defs: { a: named('A') } }), /not every call/],
    ['properties below a choice', of({}, { oneOf: [of({ a: named('A') })] }), /not every call/],
  ])('at %s', (_what, schema, why) => expect(mcpHeaderFault(schema)).toMatch(why));
});
