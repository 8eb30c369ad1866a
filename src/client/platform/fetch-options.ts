// How requests are sent with `fetch`: the token goes to the engine alone, which never redirects, and no answer stays in a
// cache of the browser.

export const FETCH_OPTIONS = {
  redirect: 'error',
  credentials: 'omit',
  cache: 'no-store',
  referrerPolicy: 'no-referrer',
} as const;
