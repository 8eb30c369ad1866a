// What happens to questions when nobody sits at the terminal: they are printed with the commands that answer them, or,
// where that was asked for, allowed and said so.
import { isLeft } from 'fp-ts/lib/Either.js';
import pc from 'picocolors';
import type { EffectId } from '../../../schemas/ids.ts';
import { type RequiredAction, requiredActions } from '../../core/status.ts';
import type { EngineClient } from '../../client/client.ts';
import type { Output } from '../output.ts';
import { allowing } from './answers.ts';
import { actionLine, commandFor } from './describe-action.ts';
import type { Asker } from './terminal.ts';

/** Tells of every action once, and leaves it to whoever runs the command it names. */
export function newTellingAsker(output: Output): Asker {
  const told = new Set<EffectId>();
  return {
    update(state) {
      for (const action of requiredActions(state)) {
        if (told.has(action.effect_id)) continue;
        told.add(action.effect_id);
        output.object({ event: 'requires_action', action });
        output.line(`  ${pc.yellow('?')} waits for a person: ${actionLine(state.session_id, action)}`);
        output.line(`    ${commandFor(state, action)}`);
      }
    },
    close: () => undefined,
  };
}

/** Allows every call that asks, its tool for the rest of the session; `why` is said and recorded with it. */
export function newAllowingAsker(client: EngineClient, why: string, output: Output): Asker {
  const telling = newTellingAsker(output);
  const allowed = new Set<EffectId>();

  async function allow(action: RequiredAction): Promise<void> {
    const submitted = await client.submit(action.session_id, { events: [allowing(action, why, {})] })();
    // What is recorded is told as every other event is: allowed, by whom and why.
    if (isLeft(submitted)) output.line(pc.yellow(`  ! ${submitted.left.message}`));
    output.object({ event: 'allowed', by: why, action });
  }

  return {
    update(state) {
      for (const action of requiredActions(state)) {
        if (action.kind === 'agent.custom_tool_use') telling.update(state);
        else if (!allowed.has(action.effect_id)) {
          allowed.add(action.effect_id);
          void allow(action);
        }
      }
    },
    close: () => undefined,
  };
}
