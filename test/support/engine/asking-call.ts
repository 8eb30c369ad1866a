// A session with a running call that asks.
import type { CallQuestion } from '../../../schemas/elicitation.ts';
import { brand } from '../../../schemas/ids.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { type Elicitation, elicitations } from '../../../src/core/index.ts';
import { ONCE } from '../tools.ts';
import { A, Talk, callsIn, packageOf, started } from './world.ts';

/** Creates the session; its call `a` of the tool `once` runs and asks this. */
export async function callThatAsks(client: EngineClient, id: string, question: CallQuestion): Promise<Talk> {
  const talk = await new Talk(client, brand<'SessionId'>(id)).create(packageOf([ONCE]));
  await talk.calls(['a', 'once']);
  const call = callsIn(await talk.lease(A)).find(({ session_id }) => session_id === talk.id);
  if (call === undefined) throw new Error(`no call of ${id} was leased`);
  await talk.submit([started(call, A)], A);
  const { batch_id, call_id, attempt } = call;
  await talk.submit([{ kind: 'ToolCallAsked', batch_id, call_id, attempt, question }], A);
  return talk;
}

/** The only open question. */
export async function openQuestionOf(talk: Talk): Promise<Elicitation> {
  const [open] = elicitations(await talk.state());
  if (open === undefined) throw new Error('no question is open');
  return open;
}
