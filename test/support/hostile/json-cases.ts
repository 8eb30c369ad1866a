// JSON documents that cost a parser more than their size: width, depth, keys, numbers, strings and faults at their end.
// Each is sent as large as a body may be, and at a sixteenth of it.
import { BODY_BYTES_MAX } from '../../../schemas/limits.ts';
import { type HostileCase, eventsOf, post } from './request.ts';

const repeated = (unit: string, chars: number): string =>
  Array.from({ length: Math.max(1, Math.floor(chars / (unit.length + 1))) }, () => unit).join(',');

const keyed = (chars: number, keyOf: (index: number) => string): string => {
  const parts: string[] = [];
  for (let size = 0; size < chars;) {
    const part = `${JSON.stringify(keyOf(parts.length))}:1`;
    size += part.length + 1;
    parts.push(part);
  }
  return `{${parts.join(',')}}`;
};

type Document = (chars: number) => string;

const list =
  (unit: string): Document =>
  (chars) =>
    `[${repeated(unit, chars)}]`;

const text =
  (unit: string): Document =>
  (chars) =>
    `["${unit.repeat(Math.floor(chars / unit.length))}"]`;

/** Documents of about this many characters. */
const JSON_DOCUMENTS: Readonly<Record<string, Document>> = {
  zeros: list('0'),
  nulls: list('null'),
  'empty objects': list('{}'),
  'empty lists': list('[]'),
  'lists of one': list('[1]'),
  'objects of one': list('{"a":1}'),
  'objects out of order': list('{"b":1,"a":1}'),
  'empty strings': list('""'),
  'short strings': list('"a"'),
  'largest numbers': list('1.7976931348623157e308'),
  'numbers too large': list('1e999'),
  'numbers too small': list('1e-999'),
  'numbers of many digits': list(`0.${'1'.repeat(1_000)}`),
  'one number of many digits': (chars) => `[0.${'7'.repeat(chars)}]`,
  'one integer of many digits': (chars) => `[${'7'.repeat(chars)}]`,
  'escaped letters': text('\\u0061'),
  'escaped surrogate pairs': text('\\ud83d\\ude00'),
  'lone surrogates': text('\\ud83d'),
  'escaped backslashes': text('\\\\'),
  'escaped quotes': text('\\"'),
  'multi-byte text': text('\u20ac'),
  'many keys': (chars) => keyed(chars, (index) => `k${index}`),
  'keys out of order': (chars) => keyed(chars, (index) => `k${(index * 7_919) % 1_000_003}`),
  'integer keys': (chars) => keyed(chars, (index) => String((index * 7_919) % 1_000_003)),
  'sparse integer keys': (chars) => keyed(chars, (index) => String(4_294_967_294 - index * 50_000)),
  'prefix keys': (chars) => keyed(chars, (index) => `${'k'.repeat(200)}${index}`),
  'a repeated key at the end': (chars) => `${keyed(chars, (index) => `k${index}`).slice(0, -1)},"k0":1}`,
  'a repeated escaped key': (chars) => `${keyed(chars, (index) => `k${index}`).slice(0, -1)},"\\u006b0":1}`,
  'a repeated key in every object': list('{"a":1,"a":2}'),
  '__proto__ at the end': (chars) => `${keyed(chars, (index) => `k${index}`).slice(0, -1)},"__proto__":1}`,
  'objects of different shapes': (chars) =>
    `[${repeated('{"k":1}', chars).replaceAll(/k/g, () => `k${(shape += 1)}`)}]`,
  'nested lists': (chars) => `[${repeated('['.repeat(60) + ']'.repeat(60), chars)}]`,
  'nested objects': (chars) => `[${repeated(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`, chars)}]`,
  'too deep': (chars) => '['.repeat(chars),
  'too deep at the end': (chars) => `[${repeated('0', chars)},${'['.repeat(65)}${']'.repeat(65)}]`,
  'unclosed list': (chars) => `[${repeated('0', chars)}`,
  'unclosed string': (chars) => `["${'a'.repeat(chars)}`,
  'unclosed strings': (chars) => '"'.repeat(chars + 1),
  'backslashes without end': (chars) => `"${'\\'.repeat(chars)}`,
  'a fault at the end': (chars) => `[${repeated('{"a":1}', chars)},x]`,
  'minus zero at the end': (chars) => `[${repeated('0', chars)},-0]`,
  colons: (chars) => ':'.repeat(chars),
  commas: (chars) => ','.repeat(chars),
  spaces: (chars) => `${' '.repeat(chars)}1`,
};

let shape = 0;

const SIZES = { 'a whole body': BODY_BYTES_MAX - 256, 'a sixteenth': BODY_BYTES_MAX / 16 };

/** Where a document is sent: alone, as the arguments of a call, as the data of a result, as a schema of a tool. */
const PLACES: Readonly<Record<string, (session: string, json: string) => readonly [path: string, body: string]>> = {
  'as a lease request': (_, json) => ['/v1/leases', json],
  'as arguments': (session, json) => [
    eventsOf(session),
    `{"events":[{"kind":"ToolCallsObserved","run_id":"run-1","turn":1,"calls":[{"call_id":"a","tool_name":"free","arguments":{"x":${json}}}]}]}`,
  ],
  'as a schema': (_, json) => [
    '/v1/sessions',
    `{"tool_package":{"registry":[{"tool_id":"x","input_schema":{"x":${json}}}],"profiles":[],"provider_profiles":[]}}`,
  ],
};

/** As many fields as a body may have, which no shape knows; without commas between them, as many as fit. */
const UNKNOWN_FIELDS: Readonly<Record<string, string>> = {
  named: fieldsOf(32_000, (index) => `"k${index}":1`),
  'named by sparse integers': fieldsOf(32_000, (index) => `"${index * 50_021}":1`),
  'named with escapes': fieldsOf(32_000, (index) => `"\\u006b${index}":1`),
  'without commas': fieldsOf(60_000, (index) => `"\\u006b${index}":1`, ' '),
};

function fieldsOf(count: number, make: (index: number) => string, separator = ','): string {
  return Array.from({ length: count }, (_, index) => make(index)).join(separator);
}

const FIELD_PLACES: Readonly<Record<string, (session: string, fields: string) => readonly [string, string]>> = {
  'a request': (_, fields) => ['/v1/sessions', `{${fields}}`],
  'a config': (_, fields) => ['/v1/sessions', `{"config":{${fields}}}`],
  'an event': (session, fields) => [eventsOf(session), `{"events":[{"kind":"RunRequested",${fields}}]}`],
  'an input': (session, fields) => [
    eventsOf(session),
    `{"events":[{"kind":"RunRequested","input":{"text":"go",${fields}}}]}`,
  ],
  'a result': (session, fields) => [
    eventsOf(session),
    `{"events":[{"kind":"ToolCallSettled","batch_id":"batch-1","call_id":"a","result":{"success":true,${fields}}}]}`,
  ],
};

const fieldCases: readonly HostileCase[] = Object.entries(UNKNOWN_FIELDS).flatMap(([which, fields]) =>
  Object.entries(FIELD_PLACES).map(([place, wrap]) => ({
    name: `json: unknown fields ${which}, in ${place}`,
    requests: async (target) => [post(...wrap(await target.generating(), fields))],
  })),
);

const documentCases: readonly HostileCase[] = Object.entries(JSON_DOCUMENTS).flatMap(([document, make]) =>
  Object.entries(SIZES).flatMap(([size, chars]) =>
    Object.entries(PLACES).flatMap(([place, wrap]) => {
      // At a sixteenth of the size, one place shows that the small document passes at all.
      if (size === 'a sixteenth' && place !== 'as arguments') return [];
      return [
        {
          name: `json: ${document}, ${size}, ${place}`,
          requests: async (target) => {
            const session = place === 'as arguments' ? await target.generating() : '';
            return [post(...wrap(session, make(chars)))];
          },
        },
      ];
    }),
  ),
);

export const jsonCases: readonly HostileCase[] = [...documentCases, ...fieldCases];
