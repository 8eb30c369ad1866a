// Verifies a copy of a data directory. A session that is damaged in the original too must not end all copies: the others
// would have none.
import { isLeft } from 'fp-ts/lib/Either.js';
import { brand } from '../../../schemas/ids.ts';
import { verifySources } from '../commands/verify.ts';
import type { Output } from '../output.ts';
import { withEngine } from '../with-engine.ts';

/** Whether the copy is as whole as its original, and the sessions that are damaged in both. */
export interface CopyVerified {
  readonly code: number;
  readonly isKept: boolean;
  readonly damaged: readonly string[];
}

export async function verifyCopy(directory: string, original: string, output: Output): Promise<CopyVerified> {
  const { code, bad } = await verifySources({ sources: [], all: true, laws: false, dataDir: directory }, output);
  if (code === 0) return { code, isKept: true, damaged: [] };
  if (bad === null || bad.length === 0) return { code, isKept: false, damaged: [] };
  const isKept = await withEngine(original, async (client) => {
    for (const id of bad) {
      const found = await client.session(brand<'SessionId'>(id))();
      if (!isLeft(found) || found.left.code !== 'damaged') return false;
    }
    return true;
  });
  if (!isKept) return { code, isKept, damaged: [] };
  for (const id of bad) {
    output.warn(`session ${id} is damaged in ${original}, and so in the copy; delete it there: refold delete ${id}`);
  }
  return { code, isKept, damaged: bad };
}
