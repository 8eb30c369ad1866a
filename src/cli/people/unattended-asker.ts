// What happens to waiting actions without a terminal: they are printed with the commands that answer them or, on request,
// allowed with a recorded reason.
import { isLeft } from 'fp-ts/lib/Either.js';
import pc from 'picocolors';
import type { EffectId } from '../../../schemas/ids.ts';
import { type RequiredAction, requiredActions } from '../../core/status.ts';
import type { EngineClient } from '../../client/client.ts';
import type { Output } from '../output.ts';
import { allowing } from './answers.ts';
import { actionLines } from './describe-action.ts';
import type { Asker } from './terminal-asker.ts';

/** Prints every action once, with the command that answers it. */
export function newPrintingAsker(output: Output): Asker {
  const printed = new Set<EffectId>();
  return {
    update(state) {
      for (const action of requiredActions(state)) {
        if (printed.has(action.effect_id)) continue;
        printed.add(action.effect_id);
        output.object({ event: 'requires_action', action });
        for (const line of actionLines(action)) output.line(`  ${line}`);
      }
    },
    close: () => undefined,
  };
}

/** Allows every call that asks, and its tool for the rest of the session; `why` is recorded as the author. */
export function newAllowingAsker(client: EngineClient, why: string, output: Output): Asker {
  const printing = newPrintingAsker(output);
  const allowed = new Set<EffectId>();

  async function allow(action: RequiredAction): Promise<void> {
    const submitted = await client.submit(action.session_id, { events: [allowing(action, why, {})] })();
    // The recorded confirmation is printed like every other event.
    if (isLeft(submitted)) output.line(pc.yellow(`  ! ${submitted.left.message}`));
    output.object({ event: 'allowed', by: why, action });
  }

  return {
    update(state) {
      for (const action of requiredActions(state)) {
        if (action.kind === 'agent.custom_tool_use') printing.update(state);
        else if (!allowed.has(action.effect_id)) {
          allowed.add(action.effect_id);
          void allow(action);
        }
      }
    },
    close: () => undefined,
  };
}
