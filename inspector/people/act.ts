// Every other thing that a person does to a session, with the events of the commands.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../schemas/event.ts';
import type { RunId } from '../../schemas/ids.ts';
import { unreachable } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { storeContent } from '../../src/client/store-content.ts';
import { policyPreset } from '../../src/core/compare/alternative.ts';
import { Refused, refusalOf } from '../folding/refused.ts';
import type { Act, Outcome } from '../protocol.ts';
import { submitSurely } from './submit-surely.ts';
import { stateOf } from './waiting.ts';

export async function actOn(client: EngineClient, act: Act, by: string): Promise<Outcome> {
  if (act.kind === 'fork') return await fork(client, act);
  const submitted = await submitSurely(client, act.session_id, await eventOf(client, act, by));
  if (isLeft(submitted)) return { taken: false, refused: refusalOf(submitted.left), first: null };
  return { taken: true, position: submitted.right.events[0]?.position ?? null, session_id: act.session_id };
}

async function fork(
  client: EngineClient,
  { session_id, at, run, to }: Extract<Act, { readonly kind: 'fork' }>,
): Promise<Outcome> {
  const made = await client.fork(session_id, { at, run, ...(to === null ? {} : { session_id: to }) })();
  if (isLeft(made)) return { taken: false, refused: refusalOf(made.left), first: null };
  return { taken: true, position: null, session_id: made.right.session_id };
}

async function eventOf(
  client: EngineClient,
  act: Exclude<Act, { readonly kind: 'fork' }>,
  by: string,
): Promise<Ingress> {
  switch (act.kind) {
    case 'pause':
      return { kind: 'RunPaused', run_id: await liveRun(client, act) };
    case 'resume':
      return { kind: 'RunResumed', run_id: await liveRun(client, act) };
    case 'interrupt': {
      const { input, reason } = act;
      return {
        kind: 'user.interrupt',
        run_id: await liveRun(client, act),
        by,
        ...(input === null ? {} : { input: await must(storeContent(client, input)) }),
        ...(reason === null ? {} : { reason }),
      };
    }
    case 'policy':
      return { kind: 'ConsentPolicySet', policy: policyOf(act.policy), by };
    case 'approve_toolset':
      return { kind: 'ToolsetApproved', toolset: act.toolset, tools: act.tools, by };
    case 'undo': {
      const { batch_id, call_id } = act.call;
      return { kind: 'UndoRequested', call_id, ...(batch_id === null ? {} : { batch_id }) };
    }
  }
  return unreachable(act);
}

async function liveRun(client: EngineClient, { session_id }: Act): Promise<RunId> {
  const { run } = await stateOf(client, session_id);
  if (run !== null) return run.run_id;
  throw new Refused(refusalOf({ code: 'run_not_active', message: `${session_id} has no active run` }));
}

function policyOf(policy: Extract<Act, { readonly kind: 'policy' }>['policy']) {
  if (typeof policy !== 'string') return policy;
  const preset = policyPreset(policy);
  if (preset !== undefined) return preset;
  throw new Refused({ code: 'not_found', message: `there is no policy "${policy}"`, advice: '' });
}
