// Starts the worker. A browser that knows Trusted Types takes the address of a script only from a policy that the server
// allows by name, so the one policy of the page makes that one address and refuses every other.
import type { Port } from './link.ts';

interface TrustedTypes {
  readonly createPolicy: (
    name: string,
    rules: { readonly createScriptURL: (address: string) => string },
  ) => { readonly createScriptURL: (address: string) => string };
}

const SCRIPT = '/worker.js';

export function newWorker(window: Window): Port {
  const { trustedTypes } = window as Window & { readonly trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('refold', { createScriptURL: onlyTheWorker });
  // The address of a policy is an object that counts as a string.
  return new Worker(policy?.createScriptURL(SCRIPT) ?? SCRIPT, { type: 'module' });
}

function onlyTheWorker(address: string): string {
  if (address === SCRIPT) return address;
  throw new TypeError(`the page starts no script but ${SCRIPT}`);
}
