// The key that tokens are bound to (RFC 9449), as it is kept between processes: a private JSON Web Key.
import { webcrypto } from 'node:crypto';
import type { DpopSession } from '@modelcontextprotocol/client';

export type PrivateJwk = Readonly<Record<string, unknown>>;

const EC = { name: 'ECDSA', namedCurve: 'P-256' } as const;

export async function newDpopKey(): Promise<PrivateJwk> {
  const pair = await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  return { ...(await webcrypto.subtle.exportKey('jwk', pair.privateKey)) };
}

/** The session that signs with a kept key. */
export async function dpopSession(key: PrivateJwk): Promise<DpopSession> {
  const { DpopSession: Session } = await import('@modelcontextprotocol/client');
  const { kty, crv, x, y } = key as { readonly [name in 'kty' | 'crv' | 'x' | 'y']: string };
  const publicJwk = { kty, crv, x, y };
  // RFC 7638, section 3: the required members in their order.
  const members = JSON.stringify({ crv, kty, x, y });
  const hash = await webcrypto.subtle.digest('SHA-256', Buffer.from(members, 'utf8'));
  return await Session.create({
    keyPair: {
      privateKey: await webcrypto.subtle.importKey('jwk', key, EC, false, ['sign']),
      publicKey: await webcrypto.subtle.importKey('jwk', publicJwk, EC, true, ['verify']),
      publicJwk,
      thumbprint: Buffer.from(hash).toString('base64url'),
      alg: 'ES256',
    },
  });
}
