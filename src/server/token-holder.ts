// Who sends a request: what its token allows, and what is known of the token.
import type { Access } from '../../schemas/access.ts';

/** Where a token is kept. */
export interface TokenFile {
  /** The name of the file, without its directory. */
  readonly name: string;
  /** The SHA-256 digest of the token, in hex. */
  readonly digest: string;
}

/** Who sent a request. */
export interface TokenHolder {
  /** What the token allows. */
  readonly access: Access;
  /** Whether its token is still accepted. */
  isCurrent(): boolean;
  /** It is a page in a browser, which got its token for a code. */
  readonly isPage?: true;
  /** Absent for a token that is in no file. */
  readonly file?: TokenFile;
}
