// Whether two names mean the same model. A turn's items go back only to the family that wrote them: no other model can read
// its reasoning, and many servers refuse it.

/** True when the names differ only in host, vendor, region, version or date: `us.anthropic.claude-x-v1:0` and `claude-x`. */
export const sameFamily = (a: string, b: string): boolean =>
  a !== '' && b !== '' && (a === b || family(a) === family(b));

// Vendors order the words differently (`claude-4.5-haiku`, `claude-haiku-4-5`), so that the order does not count.
const family = (model: string): string =>
  withoutVersion(withoutPrefix(model.toLowerCase()))
    .split(/[-._ ]+/)
    .sort()
    .join('-');

/** Without the path of a host or vendor (`models/`, `openai/`, an ARN), and without `us.anthropic.` and its like. */
const withoutPrefix = (model: string): string =>
  model.slice(model.lastIndexOf('/') + 1).replace(/^(?:[a-z][a-z-]*\.)+(?=[a-z])/, '');

// A tag (`:free`, `:0`, but no size such as `:120b`), a date, a counter (`-v1`, `-001`) and `-latest`, in any number, at the end.
const VERSION = new RegExp(
  '(?::(?:[0-9]+|[a-z-]+)|@[^/]*|-v[0-9]+|-latest|[-@]20[0-9]{2}-?[01][0-9]-?[0-3][0-9]|-[01][0-9]-[0-3][0-9]|-[0-9]{4}|-00[0-9]|[-.]0)$',
);

function withoutVersion(model: string): string {
  let rest = model;
  for (
    let shorter = rest.replace(VERSION, '');
    shorter !== rest && shorter !== '';
    shorter = rest.replace(VERSION, '')
  ) {
    rest = shorter;
  }
  return rest;
}
