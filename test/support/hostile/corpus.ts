// The hostile corpus: requests that each try to hold the event loop of an engine. It is made by the code beside this file;
// fixed.json holds requests that once held it, word for word.
import { readFileSync } from 'node:fs';
import { eventCases } from './event-cases.ts';
import { jsonCases } from './json-cases.ts';
import { type HostileCase, eventsOf, post } from './request.ts';
import { schemaCases } from './schema-cases.ts';
import { transportCases } from './transport-cases.ts';

interface FixedCase {
  readonly name: string;
  readonly path: string;
  readonly body: string;
}

const fixed = JSON.parse(readFileSync(new URL('fixed.json', import.meta.url), 'utf8')) as readonly FixedCase[];

const fixedCases: readonly HostileCase[] = fixed.map(({ name, path, body }) => ({
  name: `fixed: ${name}`,
  requests: async ({ generating }) => [post(path === 'events' ? eventsOf(await generating()) : path, body)],
}));

export const CORPUS: readonly HostileCase[] = [
  ...jsonCases,
  ...schemaCases,
  ...eventCases,
  ...transportCases,
  ...fixedCases,
];
