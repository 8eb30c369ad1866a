// Requests that every session refuses, by their fault.
import type { Ingress } from '../../../schemas/event.ts';
import { EVENTS_PER_COMMIT_MAX, JSON_DEPTH_MAX } from '../../../schemas/limits.ts';
import { ZERO_DIGEST, nested } from './inputs.ts';

const RUN: Ingress = { kind: 'RunRequested', input: { text: 'go' } };

const settlement = {
  kind: 'ToolCallSettled',
  batch_id: 'batch-1',
  call_id: 'a',
  plan_hash: ZERO_DIGEST,
  attempt: 1,
  result: { success: true },
  output: { text: '' },
};

type Expected = { readonly code: string; readonly path?: string };
const event = (fields: object): object => ({ events: [fields] });

/** Requests to a session that has an open batch of one call `a`. */
export const BAD_REQUESTS: readonly (readonly [name: string, request: unknown, expected: Expected])[] = [
  ['no request', undefined, { code: 'invalid_shape', path: '' }],
  ['a request that is a string', 'x', { code: 'invalid_shape', path: '' }],
  ['a list', [], { code: 'invalid_shape', path: '' }],
  ['no events', { events: [] }, { code: 'invalid_shape', path: '/events' }],
  ['an unknown field', { events: [RUN], more: 1 }, { code: 'invalid_shape', path: '/more' }],
  ['an event that is null', { events: [null] }, { code: 'unknown_kind', path: '/events/0/kind' }],
  ['an unknown kind', event({ kind: 'Nothing' }), { code: 'unknown_kind', path: '/events/0/kind' }],
  ['an inherited kind', event({ kind: 'toString' }), { code: 'unknown_kind', path: '/events/0/kind' }],
  ['an unknown field of an event', event({ ...RUN, at_ms: 1 }), { code: 'invalid_shape', path: '/events/0/at_ms' }],
  ['a missing field', event({ kind: 'RunPaused' }), { code: 'invalid_shape', path: '/events/0/run_id' }],
  [
    'a wrong type deep inside',
    event({ ...settlement, result: { success: 'yes' } }),
    { code: 'invalid_shape', path: '/events/0/result/success' },
  ],
  [
    'a float where state counts',
    event({ ...settlement, attempt: 1.5 }),
    { path: '/events/0/attempt', code: 'invalid_shape' },
  ],
  [
    'a negative expected version',
    { events: [RUN], expected_version: -1 },
    { code: 'invalid_shape', path: '/expected_version' },
  ],
  ['an invalid owner', { events: [RUN], owner: 'a b' }, { code: 'invalid_shape', path: '/owner' }],
  [
    'too many events',
    { events: Array.from({ length: EVENTS_PER_COMMIT_MAX + 1 }, () => RUN) },
    { code: 'invalid_shape', path: '/events' },
  ],
  [
    'a value that is nested too deeply',
    event({ ...settlement, result: { success: true, data: nested(JSON_DEPTH_MAX) } }),
    { code: 'too_deep' },
  ],
  [
    'NaN',
    event({ ...settlement, result: { success: true, x: Number.NaN } }),
    { code: 'invalid_value', path: '/events/0/result/x' },
  ],
  [
    'negative zero',
    event({ ...settlement, result: { success: true, x: -0 } }),
    { code: 'invalid_value', path: '/events/0/result/x' },
  ],
  [
    'a lone surrogate',
    event({ ...RUN, input: { text: '\ud800' } }),
    { code: 'invalid_value', path: '/events/0/input/text' },
  ],
  [
    'the key __proto__',
    event(JSON.parse('{"kind":"RunPaused","__proto__":{}}') as object),
    { code: 'invalid_value', path: '/events/0/__proto__' },
  ],
  ['a value that is not JSON', event({ ...RUN, input: new Map() }), { code: 'invalid_value', path: '/events/0/input' }],
  ['a second run', event(RUN), { code: 'run_already_active', path: '/events/0/kind' }],
  ['a second batch', event({ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [] }), { code: 'batch_open' }],
  [
    'a report of another turn',
    event({ kind: 'GenerateFailed', run_id: 'run-1', turn: 7, code: 'x', message: '' }),
    { code: 'wrong_turn', path: '/events/0/turn' },
  ],
  [
    'a report of another run',
    event({ kind: 'RunPaused', run_id: 'run-7' }),
    { code: 'wrong_run', path: '/events/0/run_id' },
  ],
  [
    'a settlement of another batch',
    event({ ...settlement, batch_id: 'batch-7' }),
    { code: 'wrong_batch', path: '/events/0/batch_id' },
  ],
  [
    'a settlement of an unknown call',
    event({ ...settlement, call_id: 'z', plan_hash: undefined }),
    { code: 'invalid_value' },
  ],
  ['a settlement under another plan', event(settlement), { code: 'plan_mismatch', path: '/events/0/plan_hash' }],
  [
    'the end of a batch that is open',
    event({ kind: 'ToolBatchSettled', batch_id: 'batch-1', plan_hash: ZERO_DIGEST }),
    { code: 'plan_mismatch' },
  ],
  [
    'a time, which the engine alone reports',
    event({ kind: 'TimeReached', due_at_ms: 1 }),
    { code: 'forbidden_scope', path: '/events/0/kind' },
  ],
  [
    'a blob that does not exist',
    event({ ...settlement, output: { ref: ZERO_DIGEST, bytes: 9, head: '', tail: '' } }),
    { code: 'unknown_blob', path: '/events/0/output' },
  ],
  [
    'an unknown profile',
    event({ kind: 'ToolProfileSelected', profile_id: 'none' }),
    { code: 'profile_unknown', path: '/events/0/profile_id' },
  ],
];
