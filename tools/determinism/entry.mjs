// The entry of the bundle: folds in a normal or a poisoned realm, and reports the time zone and locale of the realm.
import { foldAll } from './fold-all.mjs';
import { poison } from './poison.mjs';

/** The result of {@link foldAll} with the time zone and the locale of the realm, or `{ error }`. */
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
