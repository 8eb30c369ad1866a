// Who sends a request: what its token allows, and what is known of the token.
import type { Access } from '../../schemas/access.ts';

/** Who sent a request. */
export interface TokenHolder {
  /** What the token allows. */
  readonly access: Access;
  /** Whether its token is still accepted. */
  isCurrent(): boolean;
  /** It is a page in a browser, which got its token for a code. */
  readonly isPage?: true;
  /** The file of its token, and the SHA-256 digest of the token in hex; absent for one that is in no file. */
  readonly file?: { readonly name: string; readonly digest: string };
}
