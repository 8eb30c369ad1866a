// The data of a result that is too long for its event, as its schema is checked against it.
import { isLeft } from 'fp-ts/lib/Either.js';
import { isInline } from '../../../schemas/content.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { BODY_BYTES_MAX } from '../../../schemas/limits.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { type Soon, andThen } from '../../soon.ts';
import type { RequestBudget } from './budget.ts';

/** Null when there is none, when it is no object, or when it is larger than a request may be. */
export function storedData(
  { blobs, budget }: { readonly blobs: Blobs; readonly budget: RequestBudget },
  data: EventOfKind<'ToolCallSettled'>['data_ref'],
): Soon<JsonObject | null> {
  if (data === undefined || isInline(data) || data.bytes > BODY_BYTES_MAX) return null;
  budget.argumentBytes -= data.bytes;
  if (budget.argumentBytes < 0) return null;
  return andThen(blobs.get(data.ref)(), (bytes) => {
    const parsed = isLeft(bytes) ? bytes : parseJson(new TextDecoder().decode(bytes.right), BODY_BYTES_MAX);
    return isLeft(parsed) || !isPlainObject(parsed.right) ? null : parsed.right;
  });
}
