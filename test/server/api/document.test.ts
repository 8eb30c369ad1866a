// The OpenAPI document: valid, whole, and the same as what the server registers.
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../schemas/access.ts';
import { shape, text } from '../../../schemas/codec.ts';
import { type JsonObject, isPlainObject } from '../../../schemas/json.ts';
import { REJECTIONS } from '../../../schemas/rejection.ts';
import { newComponents } from '../../../src/server/api/components.ts';
import { newOpenApi, openApiSteps } from '../../../src/server/api/document.ts';
import { OPEN_SHAPES } from '../../../src/server/api/open-shapes.ts';
import { runSteps } from '../../../src/core/steps.ts';
import { problemStatus } from '../../../src/server/problem.ts';

const document = runSteps(openApiSteps());
const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const checked = await new Validator().validate(structuredClone(document) as Record<string, unknown>);
    expect(checked.errors ?? []).toEqual([]);
    expect(checked.valid).toBe(true);
    expect(document['openapi']).toMatch(/^3\.1\./);
  });

  test('a fault in it would be found', async () => {
    const broken = { ...document, paths: { '/v1': { get: { responses: { 200: {} } } } } };
    expect((await new Validator().validate(structuredClone(broken) as Record<string, unknown>)).valid).toBe(false);
  });

  test('has every route with its scopes, and every request without a token', () => {
    const listed = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId, security }]) => {
        const scopes = (security as readonly { readonly bearer: readonly string[] }[]).flatMap(({ bearer }) => bearer);
        return `${operationId as string} ${method.toUpperCase()} ${path} ${scopes.join(' ')}`;
      }),
    );
    const template = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');
    const expected = [
      ...Object.entries(ROUTES).map(
        ([name, { method, path, scopes }]) => `${name} ${method} ${template(path)} ${scopes.join(' ')}`,
      ),
      ...Object.entries(OPEN_SHAPES).map(([name, { method, at }]) => `${name} ${method} ${at} `),
    ];
    expect([...listed].sort()).toEqual(expected.sort());
  });

  test('names each component that it refers to, and refers to each that it names', () => {
    const referred = new Set(Array.from(JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g), ([, to = '']) => to));
    const { schemas } = document['components'] as { readonly schemas: JsonObject };
    const named = Object.keys(schemas).map((name) => `#/components/schemas/${name}`);
    expect([...referred].sort()).toEqual([...named].sort());
    expect(named.length).toBeGreaterThan(100);
  });

  test('says of each refusal which codes have its status', () => {
    const seen = new Set<string>();
    for (const operations of Object.values(paths))
      for (const { responses } of Object.values(operations))
        for (const [status, response] of Object.entries(responses as JsonObject)) {
          const { content } = response as { readonly content?: JsonObject };
          const problem = content?.['application/problem+json'] as { readonly schema: JsonObject } | undefined;
          if (problem === undefined) continue;
          const [, { properties }] = problem.schema['allOf'] as unknown as readonly [unknown, { properties: Enums }];
          for (const code of properties.code.enum) {
            expect(`${code} ${problemStatus(code)}`).toBe(`${code} ${status}`);
            seen.add(code);
          }
        }
    expect([...seen].sort()).toEqual(Object.keys(REJECTIONS).sort());
  });

  test('is made once, in turns, and holds no path of a machine', async () => {
    const openApi = newOpenApi();
    let rests = 0;
    const pause = () => ((rests += 1), null);
    const [bytes, again] = await Promise.all([openApi(pause), openApi(pause)]);
    expect(again).toBe(bytes);
    expect(rests).toBeGreaterThanOrEqual(Object.keys(ROUTES).length);
    const text = new TextDecoder().decode(bytes);
    expect(JSON.parse(text)).toEqual(document);
    expect(text).not.toMatch(/\/(?:home|root|tmp|usr|work)\//);
  });
});

interface Enums {
  readonly code: { readonly enum: readonly (keyof typeof REJECTIONS)[] };
}

describe('components', () => {
  const word = text('word', { max: 9 });

  test('hold one shape once, and two of one name under the names of those around them', () => {
    const components = newComponents();
    const first = shape('Inner', { a: word });
    const second = shape('Inner', { b: word });
    components.schemaOf(shape('One', { inner: first, again: first }));
    components.schemaOf(shape('Two', { inner: second }));
    expect(Object.keys(components.all())).toEqual(['Inner', 'One', 'Two', 'Two.Inner']);
    const { inner } = (components.all()['Two'] as { readonly properties: JsonObject }).properties;
    expect(isPlainObject(inner) && inner['$ref']).toBe('#/components/schemas/Two.Inner');
  });

  test('refuse a third shape of one name in one place', () => {
    const components = newComponents();
    const inner = (field: string) => shape('Inner', { [field]: word });
    const all = shape('Outer', { x: inner('a'), y: inner('b'), z: inner('c') });
    expect(() => components.schemaOf(all)).toThrow('called Inner');
  });
});
