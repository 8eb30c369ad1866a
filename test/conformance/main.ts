// The program behind `npm run conformance`: checks corpora section by section, and prints a table and the failures.
import { checkedTable } from './checked-table.ts';
import { batches } from './batches.ts';
import { fixtures } from './fixtures.ts';
import { histories } from './histories.ts';
import { recordings } from './recordings.ts';
import { schemas } from './schemas.ts';
import { sessions } from './sessions.ts';
import { type Section, newTally } from './tally.ts';

const SECTIONS: readonly Section[] = [recordings, fixtures, schemas, batches, sessions, histories];

const FAILURES_SHOWN = 50;
const PROGRESS_EVERY_MS = 500;

/** Checks the folder; true when nothing failed. `print` writes a line, `show` what is being done. */
export async function conform(
  corpora: string,
  only: readonly string[],
  print: (line: string) => void,
  show: (text: string) => void,
): Promise<boolean> {
  const unknown = only.filter((name) => !SECTIONS.some((section) => section.name === name));
  if (unknown.length > 0) throw new RangeError(`no section ${unknown.join(', ')}: ${namesOf(SECTIONS)}`);
  const chosen = SECTIONS.filter(({ name }) => only.length === 0 || only.includes(name));
  let failed = 0;
  for (const { name, check } of chosen) {
    const tally = newTally();
    const started = performance.now();
    const isThere = await check(
      corpora,
      tally,
      throttled((text) => show(`${name}: ${text}`)),
    );
    show('');
    for (const line of checkedTable({ name, isThere, ms: performance.now() - started }, tally)) print(line);
    for (const failure of tally.failures.slice(0, FAILURES_SHOWN)) print(`  FAILED ${failure}`);
    if (tally.failures.length > FAILURES_SHOWN) print(`  … and ${tally.failures.length - FAILURES_SHOWN} more`);
    failed += tally.failures.length;
  }
  print(failed === 0 ? `${chosen.length} sections passed` : `${failed} failures`);
  return failed === 0;
}

const namesOf = (sections: readonly Section[]): string => sections.map(({ name }) => name).join(', ');

function throttled(show: (text: string) => void): (text: string) => void {
  let last = -PROGRESS_EVERY_MS;
  return (text) => {
    const now = performance.now();
    if (now - last < PROGRESS_EVERY_MS) return;
    last = now;
    show(text);
  };
}
