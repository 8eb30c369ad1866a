// The text assembled from parts equals the text of the whole value.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LeaseGrant, SubmitReceipt } from '../../schemas/wire.ts';
import { must } from '../../src/client/must.ts';
import { grantParts, receiptParts } from '../../src/server/receipt-text.ts';
import { A, newWorld, settled } from '../support/engine/world.ts';
import { callsIn, leaseRequest } from '../support/engine/world.ts';

const grantText = (grant: LeaseGrant): string => Array.from(grantParts(grant)).join('');
const receiptText = (receipt: SubmitReceipt): string => Array.from(receiptParts(receipt)).join('');
const whole = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('the text of grants and receipts with calls, a transcript and tools is right over twenty turns', async () => {
  const { talk } = await newWorld();
  await talk.create();
  await talk.run();
  for (let turn = 1; turn <= 20; turn += 1) {
    const generate = await must(talk.client.lease(leaseRequest(A)));
    expect(generate.effects.map(({ kind }) => kind)).toEqual(['llm.generate']);
    expect(JSON.parse(grantText(generate))).toEqual(whole(generate));
    const calls = ['a', 'b'].map((id) => ({
      call_id: `${id}-${turn}`,
      tool_name: 'read',
      arguments: { turn, 'ä"': id },
    }));
    await talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn, calls }]);
    const owed = await must(talk.client.lease(leaseRequest(A)));
    expect(JSON.parse(grantText(owed))).toEqual(whole(owed));
    const receipt: SubmitReceipt = {
      ...(await talk.submit(callsIn(owed).map((call) => settled(call)))),
      granted: owed,
    };
    expect(JSON.parse(receiptText(receipt))).toEqual(whole(receipt));
    const { batch_id, plan_hash } = callsIn(owed)[0] ?? { batch_id: '', plan_hash: '' };
    await talk.submit([{ kind: 'ToolBatchSettled', batch_id, plan_hash }]);
  }
});

test('the text of values that are not frozen is written again each time', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ role: fc.string() }), { minLength: 1 }), (open) => {
      const effect = { kind: 'llm.generate', tools: [], transcript: { count: 1, sealed: [], open } };
      const grant = { effects: [effect], epochs: [1], plans: [], ttl_ms: 1 } as unknown as LeaseGrant;
      grantText(grant);
      (open[0] as { role: string }).role = 'changed';
      expect(JSON.parse(grantText(grant))).toEqual(whole(grant));
    }),
  );
});
