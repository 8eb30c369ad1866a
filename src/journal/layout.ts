// The one layout of the journal that this release reads and writes.
import { LAYOUT } from './keys.ts';
import { refuse } from './refusal.ts';

/** Refuses a journal of another layout: `outdated` when it is older. `journal` names it, with its directory when known. */
export function checkLayout(layout: number, journal = 'the journal'): void {
  if (layout === LAYOUT) return;
  if (layout < LAYOUT) refuse('outdated', `${journal} was made before 0.2; start a new directory`);
  refuse(
    'storage_failed',
    `${journal} has layout ${layout}; this engine reads layout ${LAYOUT} only; use the refold version that wrote it`,
  );
}
