// Findings about a journal that no stream records: torn last writes, and damage that was repaired by a rebuild.
import { paint } from '../../shown/paint.ts';
import { mentionsVanishedSessions } from '../../journal/salvage/damage-record.ts';
import { describeTornTail, readTornTails } from '../../journal/level/torn-tail.ts';
import { readRebuilt } from '../../journal/salvage/rebuild-switch.ts';
import { journalOf } from '../data-dir.ts';
import type { Output } from '../output.ts';

/**
 * Reports the findings to the operator. Returns the number of places where sessions may be gone without a trace, so that
 * nothing of them is left to verify.
 */
export async function reportFindings(dataDir: string, output: Output): Promise<number> {
  const torn = await readTornTails(journalOf(dataDir));
  if (torn.length > 0) output.object({ torn_tails: torn });
  for (const tail of torn) output.line(`${paint.yellow('cut back')}    ${describeTornTail(tail)}`);
  const rebuilt = await readRebuilt(journalOf(dataDir));
  if (rebuilt.length > 0) output.object({ rebuilt });
  for (const notice of rebuilt) {
    output.line(`${mentionsVanishedSessions(notice) ? paint.red('gone?   ') : paint.yellow('rebuilt ')}    ${notice}`);
  }
  return rebuilt.filter(mentionsVanishedSessions).length;
}
