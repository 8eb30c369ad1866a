// What `refold approve` says: what a grant covers, and why a call that no longer waits cannot be approved.
import { expect, test } from 'vitest';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { describeGrant } from '../../src/shown/describe-grant.ts';
import { findAction } from '../../src/cli/people/waiting-calls.ts';
import { newWorld, packageOf } from '../support/engine/world.ts';
import { ASKS } from '../support/tools.ts';

const approving = async (call: string) => {
  const { talk } = await newWorld();
  await talk.create(packageOf([ASKS]));
  await talk.calls(['q', 'asks']);
  return { talk, find: () => findAction(talk.client, { call }, ['agent.tool_use']) };
};

test('a grant says which calls run without a question, with every other argument', async () => {
  const action = await (await approving('q')).find();
  const shown = (args: object, grant: object): string => describeGrant({ ...action, arguments: args as never }, grant);
  const call = { argv: ['git', 'status'], cwd: 'src', env: { LANG: 'C' } };
  const grant = { argument: 'argv', pattern: 'git *' };
  expect(shown(call, grant)).toBe(
    'until the policy is replaced, calls of asks run without a question if argv matches git * and ' +
      'every other argument is exactly as in this call: {"cwd":"src","env":{"LANG":"C"}}',
  );
  expect(shown({ argv: ['git'] }, grant)).toMatch(/and there is no other argument$/);
  expect(shown(call, {})).toMatch(/without a question, with any arguments$/);
});

test('a call that a brake has settled cannot be approved, and the answer says why, also when its batch is over', async () => {
  const { talk, find } = await approving('q');
  await talk.submit([{ kind: 'ConsentPolicySet', policy: CONSENT_PRESETS.read_only }]);
  await expect(find()).rejects.toThrow(/no call "q" waits for a person; its result is "error: permission_denied: /);
  const batch = (await talk.state()).active_tool_batch;
  const plan_hash = batch?.plan.plan_hash ?? '';
  await talk.submit([{ kind: 'ToolBatchSettled', batch_id: 'batch-1', plan_hash }]);
  await expect(find()).rejects.toThrow(/permission_denied/);
});

test('a call that never was cannot be approved', async () => {
  await expect((await approving('other')).find()).rejects.toThrow('no call "other" waits for a person. List');
});
