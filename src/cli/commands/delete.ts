// `refold delete`: deletes a session for good. Its id and its last chain value stay.
import { createInterface } from 'node:readline/promises';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../../schemas/ids.ts';
import { must, mustBe } from '../../client/must.ts';
import { requireData } from '../data-dir.ts';
import { CommandFailure, type Output } from '../output.ts';
import { visible } from '../../shown/visible.ts';
import { withEngine } from '../with-engine.ts';

export interface DeleteCommand {
  readonly dataDir: string;
  readonly session: SessionId;
  /** Do not ask. */
  readonly yes: boolean;
}

export async function deleteCommand({ dataDir, session, yes }: DeleteCommand, output: Output): Promise<number> {
  await requireData(dataDir);
  return await withEngine(dataDir, async (client) => {
    const found = await client.session(session)();
    const isDamaged = isLeft(found) && found.left.code === 'damaged';
    if (isDamaged) output.warn(`${session} is damaged: ${found.left.message}`);
    if (!yes) {
      const what = isDamaged ? 'which is damaged' : `with ${mustBe(found).state.version} events`;
      if (!(await isConfirmed(`${session} ${what}`))) {
        output.line(`${session} was not deleted`);
        return 1;
      }
    }
    const tombstone = await must(client.deleteSession(session));
    output.object(tombstone);
    const { version, chain } = tombstone;
    const events = version === null ? 'a number of events that was lost' : `${version} events`;
    output.line(
      `deleted ${session} after ${events}; its last chain value ${chain === null ? 'was lost' : `is ${chain}`}`,
    );
    output.line('Blobs that no other session needs: stop the engine, then refold gc --delete');
    return 0;
  });
}

async function isConfirmed(what: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw new CommandFailure('invalid_shape', 'there is no terminal to ask on. To delete without being asked: --yes');
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await lines.question(`Delete ${visible(what)} for good? It cannot be restored. [y/N] `)).trim() === 'y';
  } finally {
    lines.close();
  }
}
