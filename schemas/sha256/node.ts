// The Node implementation behind the `#sha256` import condition: the only file of the pure folders that may import a
// Node module, because OpenSSL is an order of magnitude faster than JavaScript on large inputs.
import { hash } from 'node:crypto';

/** SHA-256 (FIPS 180-4) of bytes, or of the UTF-8 form of a well-formed string, as 64 lower-case hex digits. */
export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex');
