// What a person sees of a call that waits, with the texts that are stored beside it.
import type { JsonObject } from '../../../schemas/json.ts';
import type { EngineClient } from '../../client/client.ts';
import { storedArguments, storedText } from '../../client/stored-arguments.ts';
import { type RequiredAction, previewIn } from '../../core/status.ts';

export interface SeenAction {
  /** The arguments, when they are stored in a blob; null when they cannot be read. */
  readonly storedArguments: JsonObject | null;
  /** The diff of the recorded preview; null when there is none, or it cannot be read. */
  readonly diff: string | null;
}

export async function readSeen(client: Pick<EngineClient, 'getBlob'>, action: RequiredAction): Promise<SeenAction> {
  const preview = previewIn(action);
  return {
    storedArguments: await storedArguments(client, action.arguments_ref),
    diff: preview === null ? null : await storedText(client, preview.diff),
  };
}
