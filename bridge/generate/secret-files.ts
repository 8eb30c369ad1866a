// Which files hold a secret and so must not be sent to a model. Each is searched once, because that takes 20 ms a MiB, and in slices, between which
// other work goes on.
import type { Digest } from '../../schemas/ids.ts';
import { SEARCHED_FILES_MAX } from '../../schemas/limits.ts';
import { hasInSlices } from '../secrets/has-in-slices.ts';
import type { Redactor } from '../secrets/redactor.ts';

export type SecretFileCheck = (bytes: Uint8Array, ref: Digest) => Promise<boolean>;

export function newSecretFileCheck(redactor: Pick<Redactor, 'has' | 'reach'>): SecretFileCheck {
  const searched = new Map<Digest, boolean>();
  return async (bytes, ref) => {
    const known = searched.get(ref);
    if (known !== undefined) return known;
    const found = await hasInSlices(bytes, redactor);
    if (searched.size >= SEARCHED_FILES_MAX) searched.clear();
    searched.set(ref, found);
    return found;
  };
}
