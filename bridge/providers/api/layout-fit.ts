// Which turns go back exactly as they came.
import type { LayoutPart, ModelApi } from '../../../schemas/model-turn.ts';
import type { AssistantMessage } from '../provider.ts';
import { sameFamily } from './model-family.ts';

/**
 * The parts of a turn when this API and a model of this family wrote it, and they fit its text and calls. Null: the turn is
 * encoded from its text and calls alone.
 */
export function fittingParts(
  { text, calls, layout }: AssistantMessage,
  api: ModelApi,
  model: string,
): readonly LayoutPart[] | null {
  if (layout === undefined || layout.api !== api || !sameFamily(layout.model, model)) return null;
  let length = 0;
  let next = 0;
  for (const part of layout.parts) {
    if ('text' in part) length += part.text;
    else if ('call' in part && part.call !== next) return null;
    else if ('call' in part) next += 1;
  }
  return length === text.length && next === calls.length ? layout.parts : null;
}
