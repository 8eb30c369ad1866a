// What happens to waiting actions without a terminal: they are printed with the commands that answer them or, on request,
// allowed with a recorded reason.
import { isLeft } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import { isInline } from '../../../schemas/content.ts';
import type { Digest, EffectId } from '../../../schemas/ids.ts';
import type { RecordedPreview } from '../../../schemas/consent.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { type Elicitation, type RequiredAction, elicitations, previewIn, requiredActions } from '../../core/status.ts';
import type { EngineClient } from '../../client/client.ts';
import type { Output } from '../output.ts';
import { allowing } from '../../core/answers.ts';
import { commandFor } from '../../shown/shell-word.ts';
import { actionLines, latePreview, previewOption } from './describe-action.ts';
import { questionLines } from './describe-question.ts';
import type { Asker } from './terminal-asker.ts';

/** Prints everything that waits once, with the command that answers it; of the actions those that `shows` lets through. */
export function newPrintingAsker(output: Output, shows: (action: RequiredAction) => boolean = () => true): Asker {
  const printed = new Set<EffectId>();
  const previewed = new Set<Digest>();
  return {
    update(state) {
      for (const question of elicitations(state)) printQuestion(question);
      for (const action of requiredActions(state).filter(shows)) {
        if (printed.has(action.effect_id)) {
          printPreview(action);
          continue;
        }
        printed.add(action.effect_id);
        output.object({ event: 'requires_action', action });
        const preview = previewIn(action);
        if (preview !== null) previewed.add(preview.digest);
        for (const line of actionLines(action, { diff: textIn(preview) })) output.line(`  ${line}`);
      }
    },
    close: () => undefined,
  };

  function printQuestion(question: Elicitation): void {
    if (printed.has(question.effect_id)) return;
    printed.add(question.effect_id);
    output.object({ event: 'requires_action', action: question });
    for (const line of questionLines(question)) output.line(`  ${line}`);
  }

  /** A preview that comes after its question was printed. */
  function printPreview(action: RequiredAction): void {
    const preview = previewIn(action);
    if (preview === null || previewed.has(preview.digest)) return;
    previewed.add(preview.digest);
    output.object({ event: 'previewed', call_id: action.call_id, preview });
    const diff = textIn(preview);
    for (const line of diff === null ? [] : latePreview(action, diff)) output.line(`  ${line}`);
    output.line(paint.dim(`    ${commandFor('approve', action, previewOption(action))}`));
  }
}

const textIn = (preview: RecordedPreview | null): string | null =>
  preview !== null && isInline(preview.diff) ? preview.diff.text : null;

/**
 * Allows every call that asks, each by an answer of its own, so that nothing stays allowed when the command has ended; `why`
 * is recorded as the author. An answer that the engine does not take, as on a full disk, is told once and given again until
 * the call no longer waits.
 */
export function newAllowingAsker(client: EngineClient, why: string, output: Output, againMs = AGAIN_MS): Asker {
  // What a call asks, and what a person carries out, nobody may answer for a person.
  const printing = newPrintingAsker(output, ({ kind }) => kind === 'agent.custom_tool_use');
  /** What is being answered, or was. */
  const allowed = new Set<EffectId>();
  const told = new Set<EffectId>();
  let state: SessionState | null = null;
  let timer: NodeJS.Timeout | null = null;

  async function allow(action: RequiredAction): Promise<void> {
    const submitted = await client.submit(action.session_id, { events: [allowing(action, why)] })();
    // The recorded confirmation is printed like every other event.
    if (!isLeft(submitted)) output.object({ event: 'allowed', by: why, action });
    else refused(action, submitted.left.message);
  }

  function refused({ effect_id }: RequiredAction, message: string): void {
    if (!told.has(effect_id)) output.line(paint.yellow(`  ! ${message}; trying again`));
    told.add(effect_id);
    allowed.delete(effect_id);
    timer ??= setTimeout(answerAll, againMs);
  }

  function answerAll(): void {
    timer = null;
    if (state === null) return;
    printing.update(state);
    for (const action of requiredActions(state)) {
      if (action.kind === 'agent.tool_use' && !allowed.has(action.effect_id)) {
        allowed.add(action.effect_id);
        void allow(action);
      }
    }
  }

  return {
    update(now) {
      state = now;
      // While an answer waits to be given again, it is not given at every event.
      if (timer === null) answerAll();
    },
    close() {
      state = null;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** After how long an answer that was not taken is given again. */
const AGAIN_MS = 1_000;
