// Which files hold a secret and so must not be sent to a model. Each is searched once, because that takes 20 ms a MiB.
import type { Digest } from '../../schemas/ids.ts';
import { SEARCHED_FILES_MAX } from '../../schemas/limits.ts';
import type { Redactor } from '../secrets/redactor.ts';

export type SecretFileCheck = (bytes: Uint8Array, ref: Digest) => boolean;

export function newSecretFileCheck(redactor: Pick<Redactor, 'has'>): SecretFileCheck {
  const searched = new Map<Digest, boolean>();
  return (bytes, ref) => {
    const known = searched.get(ref);
    if (known !== undefined) return known;
    if (searched.size >= SEARCHED_FILES_MAX) searched.clear();
    const found = redactor.has(bytes);
    searched.set(ref, found);
    return found;
  };
}
