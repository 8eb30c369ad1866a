// What a host lists and calls, over the client of the SDK.
import { afterEach, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { LOOK, type Hosted, newHosted } from '../support/mcp/hosted.ts';

let hosted: Hosted;
afterEach(() => hosted.close());

test.each([false, true])('the effective tools are listed as their specs say, and called (modern: %s)', async (modern) => {
  hosted = await newHosted();
  const client = await hosted.connect({ modern });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['look', 'count', 'slow', 'risky', 'ask_user']);
  expect(tools[0]).toMatchObject({
    description: 'looks',
    inputSchema: LOOK.input_schema,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  });
  const called = client.callTool({ name: 'count', arguments: { a: 1 } });
  await hosted.passes();
  expect(await called).toMatchObject({ content: [{ type: 'text' }], structuredContent: { n: 1 } });
  expect((await called).isError).toBeUndefined();
  expect(hosted.ran).toEqual(['test.count {"a":1}']);
});
