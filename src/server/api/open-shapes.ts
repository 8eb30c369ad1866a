// The requests that need no token: probes, the page, the exchange of its code, and the document of this API. What they answer
// says nothing of a session.
import { flag, jsonObject, oneOf, shape, text } from '../../../schemas/codec.ts';
import { PageToken } from '../../../schemas/pages.ts';
import { UNGUARDED } from './refusal-codes.ts';
import type { Described, RouteShape, TextAnswer } from './route-shape.ts';

export interface OpenShape extends RouteShape {
  readonly method: 'GET' | 'POST';
  readonly at: `/${string}`;
  /** Answers that are neither the usual one nor problem details, by status; `null` for one without a body. */
  readonly others?: Readonly<Record<number, Described | TextAnswer | null>>;
}

const Live = shape('Live', { live: flag });
const Ready = shape('Ready', { ready: flag });
const NotReady = shape('NotReady', {
  ready: flag,
  /** A rejection code, or `opening`. */
  reason: text('a code', { max: 64 }),
  detail: text('a sentence', { max: 256 }),
});
const OpenApi = shape(
  'OpenApi',
  { openapi: oneOf('version', ['3.1.1']), info: jsonObject, paths: jsonObject, components: jsonObject },
  { security: jsonObject, tags: jsonObject, jsonSchemaDialect: text('a dialect', { max: 256 }) },
);

const NOT_BUILT: TextAnswer = { type: 'text/plain', says: 'The page was not built.' };

const pageFile = (at: OpenShape['at'], type: string, says: string): OpenShape => ({
  method: 'GET',
  at,
  says,
  status: 200,
  answer: { type, says },
  others: { 304: null, 404: NOT_BUILT },
  refusals: UNGUARDED,
});

export const OPEN_SHAPES = {
  live: {
    method: 'GET',
    at: '/healthz',
    says: 'Whether the process lives. Needs no known Host.',
    status: 200,
    answer: Live,
    refusals: [],
  },
  ready: {
    method: 'GET',
    at: '/readyz',
    says: 'Whether the engine takes work, and else why not. Needs no known Host.',
    status: 200,
    answer: Ready,
    others: { 503: NotReady },
    refusals: [],
  },
  document: {
    method: 'GET',
    at: '/openapi.json',
    says: 'This document, which is the same for everyone.',
    status: 200,
    answer: OpenApi,
    refusals: UNGUARDED,
  },
  exchange: {
    method: 'POST',
    at: '/v1/codes/exchange',
    says: 'Gives the page of this engine its token for a code, once. The code is in the header Authorization: Code CODE.',
    status: 201,
    answer: PageToken,
    refusals: [...UNGUARDED, 'unauthorized'],
  },
  page: pageFile('/', 'text/html', 'The page that shows the sessions.'),
  pageScript: pageFile('/page.js', 'text/javascript', 'The program of the page.'),
  pageWorker: pageFile('/worker.js', 'text/javascript', 'The worker of the page.'),
  pageStyles: pageFile('/styles.css', 'text/css', 'The styles of the page.'),
} as const satisfies Readonly<Record<string, OpenShape>>;

export type OpenRouteName = keyof typeof OPEN_SHAPES;
