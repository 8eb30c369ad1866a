// Connections of the journal's own driver, for tests of its parts.
import { isLeft } from 'fp-ts/lib/Either.js';
import { postgresAddress } from '../../../src/postgres/address.ts';
import { type Connect, loadDriver } from '../../../src/postgres/driver.ts';

export async function connectTo(url: string): Promise<Connect> {
  const address = postgresAddress(url);
  if (isLeft(address)) throw new Error(address.left.message);
  return await loadDriver(address.right);
}
