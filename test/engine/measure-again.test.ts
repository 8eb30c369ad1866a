// What an edge measures is not taken on trust from a file: the digest, the verdict and the claims of arguments, and what is
// said of blobs.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { canonicalText, digestJson, digestText } from '../../schemas/canonical.ts';
import { decode } from '../../schemas/codec.ts';
import { toolRef } from '../../schemas/define-tool.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { ToolCallObserved } from '../../schemas/tool-call.ts';
import { must } from '../../src/client/must.ts';
import { newLawCheck, newReplayer, replay } from '../../src/core/index.ts';
import { importStream } from '../../src/engine/sessions/import-stream.ts';
import { newDisk } from '../support/engine/disk.ts';
import { recordStream, recordsOf } from '../support/engine/stored-stream.ts';
import { SESSION } from '../support/engine/world.ts';
import { ZERO_DIGEST, session } from '../support/session.ts';
import { testPackage } from '../support/tools.ts';

const NAMED = { call_id: 'a', tool_name: 'read' };
const ARGUMENTS = { path: 'b' };
const LONG = canonicalText({ path: 'b', text: 'x'.repeat(5_000) });
const STORED = { ref: digestText(LONG), bytes: LONG.length, head: LONG.slice(0, 8), tail: LONG.slice(-8) };
const MEASURED = { arguments_digest: STORED.ref, arguments_ref: STORED };

const input_schema = { type: 'object', properties: { path: { type: 'string' } } };
/** The test package, whose `read` takes a text as its path. */
const TOOLS = testPackage();
const STRICT = {
  ...TOOLS,
  registry: TOOLS.registry.map((tool) =>
    tool.tool_name === 'read' ? { ...tool, input_schema, tool_ref: toolRef({ ...tool, input_schema }) } : tool,
  ),
};

async function* inTurn<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

/** A stream in which a model made this call, as it would be exported. */
function exported(call: object): readonly StreamRecord[] {
  const { genesis, tool_package, events } = session({ session_id: SESSION, tool_package: STRICT })
    .runRequested()
    .observed([{ ...NAMED, ...call } as ToolCallObserved]);
  return recordsOf(recordStream({ genesis, tool_package }, events));
}

/** The code of the refusal, with its message; null when the stream is imported. */
async function refusalOf(call: object): Promise<string | null> {
  const disk = newDisk();
  await must(disk.blobs.put(new TextEncoder().encode(LONG)));
  const ports = { ...disk.ports(), own_facts_at_ms: null };
  const imported = await importStream(ports, inTurn(exported(call)));
  return isLeft(imported) ? `${imported.left.code} ${imported.left.message}` : null;
}

describe('an import', () => {
  test.each([
    ['a call without measurements', { arguments: ARGUMENTS }],
    ['a digest of the arguments', { arguments: ARGUMENTS, arguments_digest: digestJson(ARGUMENTS) }],
    ['arguments in a blob', { ...MEASURED, arguments_verdict: { valid: true } }],
    ['a blob that is not here', { arguments_digest: ZERO_DIGEST, arguments_ref: { ...STORED, ref: ZERO_DIGEST } }],
  ])('takes %s', async (_what, call) => expect(await refusalOf(call)).toBeNull());

  test.each([
    ['another digest', { arguments: ARGUMENTS, arguments_digest: ZERO_DIGEST }, '/calls/0/arguments_digest'],
    ['claims beside arguments', { arguments: ARGUMENTS, claims: [] }, '/calls/0/claims'],
    ['short arguments as content', { arguments_ref: { text: '{}' } }, '/calls/0/arguments_ref'],
    ['a verdict on text', { arguments_text: 'no', arguments_verdict: { valid: true } }, '/calls/0/arguments_verdict'],
    ['the digest of another blob', { ...MEASURED, arguments_digest: ZERO_DIGEST }, '/calls/0/arguments_digest'],
    ['another beginning of a blob', { arguments_ref: { ...STORED, head: 'safe' } }, '/calls/0/arguments_ref/head'],
    ['another size of a blob', { arguments_ref: { ...STORED, bytes: 1 } }, '/calls/0/arguments_ref/bytes'],
    ['other claims', { ...MEASURED, claims: [{ key: 'elsewhere', access: 'read' }] }, '/calls/0/claims'],
    ['a verdict on an open call', { arguments: { path: 7 }, arguments_verdict: { valid: true } }, '/arguments_verdict'],
  ])('refuses what no edge would have recorded so: %s', async (_what, call, path) => {
    const refusal = await refusalOf(call);
    expect(refusal).toContain('measured_wrong position 1: ');
    expect(refusal).toContain(path);
  });
});

describe('arguments in two forms', () => {
  test.each([
    [{ arguments: ARGUMENTS, arguments_ref: { text: '{}' } }, ['arguments_ref']],
    [{ arguments: ARGUMENTS, arguments_text: '{}' }, ['arguments_text']],
    [{ arguments_text: '{}', arguments_ref: { text: '{}' } }, ['arguments_ref']],
  ])('are no call: %j', (forms, [second]) => {
    expect(decode(ToolCallObserved, { ...NAMED, ...forms })).toMatchObject({
      left: { code: 'invalid_shape', path: `/${second}` },
    });
  });
});

describe('a replay', () => {
  const forged = exported({ arguments: ARGUMENTS, arguments_digest: ZERO_DIGEST });

  test('names the position and the field', () => {
    const { divergence } = replay(forged);
    expect(divergence).toMatchObject({ position: 1, what: 'event', code: 'measured_wrong' });
    expect(divergence?.message).toContain('/calls/0/arguments_digest');
  });

  test('leaves it to the law `measured_as_recorded` when that is asked for', () => {
    const check = newLawCheck();
    const replayer = newReplayer((folded) => check.add(folded), { asMeasured: true });
    expect(forged.every((record) => replayer.add(record))).toBe(true);
    expect(check.breaches()).toMatchObject([{ law: 'measured_as_recorded', position: 1, against: 1 }]);
  });
});
