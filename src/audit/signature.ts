// Ed25519 keys and signatures (RFC 8032) of checkpoint heads, with the platform's cryptography.
import { type KeyObject, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { canonicalBytes } from '../../schemas/canonical.ts';
import type { Checkpoint, CheckpointHead, CheckpointLeaf, CheckpointProof } from '../../schemas/checkpoint.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { SPKI_PREFIX_HEX, checkpointHead, findSignedFault, sortLeaves } from '../core/checkpoint.ts';

export interface SigningKeys {
  /** PKCS #8 in PEM; its holder can sign. */
  readonly privatePem: string;
  /** SubjectPublicKeyInfo in PEM, for those who verify. */
  readonly publicPem: string;
}

export function newSigningKeys(): SigningKeys {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privatePem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    publicPem: String(publicKey.export({ type: 'spki', format: 'pem' })),
  };
}

/** Signs the current heads of these sessions. */
export function signCheckpoint(
  leaves: readonly CheckpointLeaf[],
  {
    privatePem,
    created_at_ms,
  }: {
    /** A private Ed25519 key in PEM. */
    readonly privatePem: string;
    /** Now, in milliseconds since 1970. */
    readonly created_at_ms: number;
  },
): Either<Rejection, Checkpoint> {
  const key = readKey(() => createPrivateKey(privatePem), 'a private Ed25519 key in PEM');
  if (isLeft(key)) return key;
  const sessions = sortLeaves(leaves);
  const head = checkpointHead(sessions, created_at_ms);
  const signature = sign(null, canonicalBytes(head), key.right).toString('base64');
  return right({ kind: 'checkpoint', head, public_key: rawKey(createPublicKey(key.right)), signature, sessions });
}

/** What is wrong with a signed file; null when its signature, tree and key (the given one, else the one in the file) are right. */
export function findCheckpointFault(file: Checkpoint | CheckpointProof, publicPem?: string): Rejection | null {
  let trusted: string | null = null;
  if (publicPem !== undefined) {
    const key = readKey(() => createPublicKey(publicPem), 'a public Ed25519 key in PEM');
    if (isLeft(key)) return key.left;
    trusted = rawKey(key.right);
  }
  return findSignedFault(file, { trusted, isSigned: isSigned(file.head, file) });
}

function isSigned(
  head: CheckpointHead,
  { public_key, signature }: Pick<Checkpoint, 'public_key' | 'signature'>,
): boolean {
  try {
    const spki = Buffer.concat([SPKI_PREFIX, Buffer.from(public_key, 'base64')]);
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    return verify(null, canonicalBytes(head), key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

const SPKI_PREFIX = Buffer.from(SPKI_PREFIX_HEX, 'hex');

const rawKey = (key: KeyObject): string =>
  key.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX.length).toString('base64');

function readKey(read: () => KeyObject, wanted: string): Either<Rejection, KeyObject> {
  try {
    const key = read();
    if (key.asymmetricKeyType === 'ed25519') return right(key);
  } catch {
    // The platform's message about an unreadable key adds nothing to the rejection below.
  }
  return left(reject('key_invalid', '', `the key file does not hold ${wanted}`));
}
