// The entry of the bundle: folds as it is, or in a poisoned realm, and says what the realm knows of time and place.
import { foldAll } from './fold-all.mjs';
import { poison } from './poison.mjs';

/** What {@link foldAll} answers, with the realm's time zone and locale; or `{ error }`. */
export function run(sessions, poisoned) {
  const { timeZone, locale } = new Intl.DateTimeFormat().resolvedOptions();
  const heal = poisoned ? poison() : () => {};
  try {
    return { timeZone, locale, ...foldAll(sessions) };
  } catch (error) {
    return { timeZone, locale, error: error.message };
  } finally {
    heal();
  }
}
