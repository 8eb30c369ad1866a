// The Ed25519 signature of a checkpoint (RFC 8032), checked with the cryptography of the browser. What is wrong with a signed
// file is said by `src/core`, as the commands say it.
import { canonicalBytes } from '../../schemas/canonical.ts';
import type { Checkpoint, CheckpointProof } from '../../schemas/checkpoint.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { NO_PUBLIC_KEY, SPKI_PREFIX_HEX, findSignedFault } from '../../src/core/checkpoint.ts';

/** `publicPem`: the key to trust, as SubjectPublicKeyInfo in PEM; the key in the file when absent. */
export async function findSignatureFault(
  file: Checkpoint | CheckpointProof,
  publicPem?: string,
): Promise<Rejection | null> {
  const trusted = publicPem === undefined ? null : rawKeyIn(publicPem);
  if (publicPem !== undefined && trusted === null) return NO_PUBLIC_KEY;
  return findSignedFault(file, { trusted, isSigned: await isSigned(file) });
}

async function isSigned({ head, public_key, signature }: Checkpoint | CheckpointProof): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey('raw', bytesOf(public_key), 'Ed25519', false, ['verify']);
    return await crypto.subtle.verify('Ed25519', key, bytesOf(signature), new Uint8Array(canonicalBytes(head)));
  } catch {
    return false;
  }
}

/** The 32 bytes of the key in base64, as a checkpoint has them; null when the text is no public Ed25519 key. */
function rawKeyIn(pem: string): string | null {
  const [, body] = /-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----/.exec(pem) ?? [];
  if (body === undefined) return null;
  try {
    const der = bytesOf(body.replaceAll(/\s/g, ''));
    const prefix = Array.from(der.subarray(0, PREFIX_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('');
    if (prefix !== SPKI_PREFIX_HEX || der.length !== PREFIX_BYTES + KEY_BYTES) return null;
    return btoa(String.fromCharCode(...der.subarray(PREFIX_BYTES)));
  } catch {
    return null;
  }
}

const PREFIX_BYTES = SPKI_PREFIX_HEX.length / 2;
const KEY_BYTES = 32;

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
