// The OpenAPI 3.1 document of the HTTP API: made from the routes of `schemas/access.ts`, their shapes, and the codecs. It is the
// same for every engine of one version.
import { ROUTES, type Route } from '../../../schemas/access.ts';
import type { Json, JsonObject } from '../../../schemas/json.ts';
import { REJECTIONS, type RejectionCode } from '../../../schemas/rejection.ts';
import { Problem } from '../../../schemas/wire.ts';
import type { Steps } from '../../core/steps.ts';
import { type Pause, inTurns } from '../../turns.ts';
import { PACKAGE_VERSION } from '../../version.ts';
import { problemStatus } from '../problem.ts';
import { type Components, newComponents } from './components.ts';
import { OPEN_SHAPES, type OpenShape } from './open-shapes.ts';
import { GUARDED } from './refusal-codes.ts';
import { type Parameters, type RouteShape, isBytes, isText } from './route-shape.ts';
import { ROUTE_SHAPES } from './route-shapes.ts';

/** The whole document, made in steps: all at once it would hold the event loop for some 40 ms. */
export function* openApiSteps(): Steps<JsonObject> {
  const components = newComponents();
  const paths: Record<string, Record<string, Json>> = {};
  const add = (path: string, method: string, operation: JsonObject): void => {
    (paths[path] ??= {})[method.toLowerCase()] = operation;
  };
  for (const [name, route] of Object.entries(ROUTES) as readonly (readonly [keyof typeof ROUTES, Route])[]) {
    const given: RouteShape = ROUTE_SHAPES[name];
    add(templateOf(route.path), route.method, {
      ...operationOf(components, name, { ...given, refusals: [...GUARDED, ...given.refusals] }, route.path),
      description: `Needs a token of the scope ${route.scopes.join(' or ')}.${route.narrowed ? '' : NOT_NARROWED}`,
      security: route.scopes.map((scope) => ({ bearer: [scope] })),
    });
    yield;
  }
  for (const [name, open] of Object.entries(OPEN_SHAPES) as readonly (readonly [string, OpenShape])[]) {
    const operation = operationOf(components, name, open, open.at);
    const responses = { ...(operation['responses'] as JsonObject), ...othersOf(components, open) };
    add(open.at, open.method, { ...operation, responses, description: 'Needs no token.', security: [] });
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'refold',
      version: PACKAGE_VERSION,
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: components.all(),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: BEARER } },
    },
  };
}

/** The bytes of the document, made when they are first asked for. */
export function newOpenApi(): (pause: Pause) => Promise<Uint8Array<ArrayBuffer>> {
  let made: Promise<Uint8Array<ArrayBuffer>> | null = null;
  return (pause) =>
    (made ??= inTurns(openApiSteps(), pause).then((document) => new TextEncoder().encode(JSON.stringify(document))));
}

const ABOUT =
  'The engine of refold over HTTP. Errors are problem details (RFC 9457) with a stable code; the message is for people. ' +
  'docs/bridge.md says how a bridge and a client use it.';
const BEARER =
  'A token of one scope: operator decides, bridge leases and reports, viewer reads. The scopes that a route takes are listed as ' +
  'its alternatives. A token may be narrowed to some event kinds or tools.';
const NOT_NARROWED = ' A token that is narrowed to some kinds has it not.';

const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');

function operationOf(components: Components, name: string, given: RouteShape, path: string): JsonObject {
  const parameters = [
    ...Array.from(path.matchAll(/:(\w+)/g), ([, key = '']) => ({
      name: key,
      in: 'path',
      required: true,
      schema: given.path === undefined ? { type: 'string' } : components.schemaOf(given.path),
    })),
    ...parametersIn(components, 'query', given.query),
    ...parametersIn(components, 'header', given.headers),
  ];
  return {
    operationId: name,
    summary: given.says,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(given.body === undefined ? {} : { requestBody: { required: true, content: bodyOf(components, given.body) } }),
    responses: {
      [given.status]: { description: given.says, content: contentOf(components, given.answer) },
      ...refusalsOf(components, given.refusals),
    },
  };
}

/** The fields of a shape as parameters. None of them is required. */
function parametersIn(components: Components, place: 'query' | 'header', given?: Parameters): readonly JsonObject[] {
  if (given === undefined) return [];
  const { codec, says } = given;
  return Object.entries(codec.jsonSchema['properties'] as JsonObject).map(([name, jsonSchema]) => ({
    name,
    in: place,
    description: says[name] ?? '',
    schema: components.schemaOf({ jsonSchema: jsonSchema as JsonObject }),
  }));
}

const bodyOf = (components: Components, body: NonNullable<RouteShape['body']>): JsonObject =>
  isBytes(body)
    ? { 'application/octet-stream': { schema: { description: `At most ${body.bytesMax} bytes.` } } }
    : { 'application/json': { schema: components.schemaOf(body) } };

/** Messages and lines are extensions: OpenAPI 3.1 has no words for the parts of a stream. */
function contentOf(components: Components, answer: RouteShape['answer']): JsonObject {
  if (!isText(answer)) return { 'application/json': { schema: components.schemaOf(answer) } };
  const { type, says, messages, lines } = answer;
  const schemas = Object.entries(messages ?? {}).map(([name, codec]) => [name, components.schemaOf(codec)]);
  const isBinary = type === 'application/octet-stream';
  return {
    [type]: {
      schema: isBinary ? { description: says } : { type: 'string', description: says },
      ...(messages === undefined ? {} : { 'x-messages': Object.fromEntries(schemas) as JsonObject }),
      ...(lines === undefined ? {} : { 'x-lines': components.schemaOf(lines) }),
    },
  };
}

/** The refusals by status, each with its codes. */
function refusalsOf(components: Components, refusals: readonly RejectionCode[]): JsonObject {
  const codes = [...new Set(refusals)].sort();
  return Object.fromEntries(
    [...new Set(codes.map(problemStatus))]
      .sort((a, b) => a - b)
      .map((status) => {
        const here = codes.filter((code) => problemStatus(code) === status);
        const schema = {
          allOf: [
            components.schemaOf(Problem),
            { properties: { status: { enum: [status] }, code: { enum: here } }, required: ['code', 'path', 'detail'] },
          ],
        };
        const description = here.map((code) => `\`${code}\`: ${REJECTIONS[code]}`).join('\n\n');
        return [status, { description, content: { 'application/problem+json': { schema } } }];
      }),
  );
}

const othersOf = (components: Components, { others = {} }: OpenShape): JsonObject =>
  Object.fromEntries(
    Object.entries(others).map(([status, answer]: [string, OpenShape['answer'] | null]) => [
      status,
      answer === null
        ? { description: 'What the sender has is current.' }
        : { description: isText(answer) ? answer.says : 'Not now.', content: contentOf(components, answer) },
    ]),
  );
