// The claims of a call on what it touches (docs/design.md, "The planner"). A missing or malformed argument widens a claim
// to its whole space and never narrows it, because a claim that is too small lets two calls race.
import type { JsonObject } from '../schemas/json.ts';
import {
  CLAIM_CHARS_PER_BATCH_MAX,
  CLAIM_TEXT_CHARS_MAX,
  CLAIMS_PER_BATCH_MAX,
  CLAIMS_PER_CALL_MAX,
  PATH_CHARS_MAX,
  PATH_DEPTH_MAX,
} from '../schemas/limits.ts';
import type { Claim } from '../schemas/tool-call.ts';
import type { ClaimRule, ToolSpec } from '../schemas/tool-spec.ts';

type Hint = ToolSpec['parallelism_hint'];

/** Claims that were computed before the fold needs them, by the arguments they are of. */
const ahead = new WeakMap<JsonObject, { readonly hint: Hint; readonly claims: readonly Claim[] }>();

/**
 * Computes the claims of large arguments before the fold does, which plans a whole batch in one turn of the event loop. The
 * arguments must not change any more.
 */
export function computeClaimsAhead(hint: Hint, args: JsonObject): void {
  ahead.set(args, { hint, claims: computeClaims(hint, args) });
}

/** The claims of a call with these arguments, sorted, without repeats; null arguments claim whole spaces. */
export function claimsOf(hint: Hint, args: JsonObject | null): readonly Claim[] {
  const known = args === null ? undefined : ahead.get(args);
  return known?.hint === hint ? known.claims : computeClaims(hint, args);
}

/** What the claims of the further calls of a batch may take together. */
export interface ClaimRoom {
  claims: number;
  /** UTF-16 units of their keys. */
  chars: number;
}

export const newClaimRoom = (): ClaimRoom => ({ claims: CLAIMS_PER_BATCH_MAX, chars: CLAIM_CHARS_PER_BATCH_MAX });

/** These claims of a call when there is room for them, else whole spaces; the room is less by what is returned. */
export function claimsWithin(room: ClaimRoom, hint: Hint, own: readonly Claim[]): readonly Claim[] {
  const claims = own.length <= room.claims && charsOf(own) <= room.chars ? own : claimsOf(hint, null);
  room.claims -= claims.length;
  room.chars -= charsOf(claims);
  return claims;
}

const charsOf = (claims: readonly Claim[]): number => claims.reduce((chars, { key }) => chars + key.length, 0);

function computeClaims(hint: Hint, args: JsonObject | null): readonly Claim[] {
  if (hint.claims === undefined) {
    return hint.resource_key === undefined ? [] : [{ access: 'write', key: hint.resource_key }];
  }
  const [rule] = hint.claims;
  if (rule !== undefined && hint.claims.length === 1) {
    const keys = keysOf(rule, args);
    if (keys.length === 1) return [{ access: rule.access, key: keys[0] as string }];
  }
  const claims = new Map<string, Claim['access']>();
  let chars = 0;
  const add = (key: string, access: Claim['access']): void => {
    if (!claims.has(key)) chars += key.length;
    if (claims.get(key) !== 'write') claims.set(key, access);
  };
  const isFull = (): boolean => claims.size > CLAIMS_PER_CALL_MAX || chars > CLAIM_CHARS_PER_BATCH_MAX;
  for (const rule of hint.claims) {
    for (const key of isFull() ? [] : keysOf(rule, args)) add(key, rule.access);
  }
  if (isFull()) {
    claims.clear();
    for (const rule of hint.claims) add(rule.space, rule.access);
  }
  return [...claims.keys()].sort().map((key) => ({ access: claims.get(key) as Claim['access'], key }));
}

function keysOf(rule: ClaimRule, args: JsonObject | null): readonly string[] {
  const value = args !== null && Object.hasOwn(args, rule.argument) ? args[rule.argument] : undefined;
  if (typeof value !== 'string' || value === '') return [rule.space];
  if (rule.form === 'text')
    return value.length > CLAIM_TEXT_CHARS_MAX ? [rule.space] : [`${rule.space}/${encodeSegment(value)}`];
  if (rule.form === 'path') return [belowSpace(rule.space, value) ?? rule.space];
  const below = patchPaths(value)?.map((path) => belowSpace(rule.space, path)) ?? [null];
  return below.includes(null) ? [rule.space] : (below as readonly string[]);
}

/**
 * The key of a path in a space: the space for its root, null for a path that could name any file. In lower case, because
 * some file systems take two spellings for one name.
 */
function belowSpace(space: string, path: string): string | null {
  const below = normalizePath(path);
  if (below === null) return null;
  return below === '' ? space : `${space}/${below.toLowerCase()}`;
}

// A text claim is always one segment. A loop takes a third of the time of `replaceAll` when many characters are replaced.
function encodeSegment(value: string): string {
  if (!NEEDS_ENCODING.test(value)) return value;
  const units: number[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const unit = value.charCodeAt(index);
    if (unit === PERCENT) units.push(PERCENT, 0x32, 0x35);
    else if (unit === SLASH) units.push(PERCENT, 0x32, 0x46);
    else units.push(unit);
  }
  return String.fromCharCode(...units);
}

const NEEDS_ENCODING = /[%/]/;
const PERCENT = 0x25;
const SLASH = 0x2f;

/**
 * A workspace path without `.`, `..` and empty segments; null when it is absolute, leaves the workspace or has characters
 * that a host may normalize, because then two spellings of one file would look like two files.
 */
function normalizePath(path: string): string | null {
  if (path.startsWith('/') || path.length > PATH_CHARS_MAX || hasOddCharacter(path)) return null;
  if (!ODD_SEGMENT.test(path)) return isDeep(path) ? null : path;
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return null;
  }
  return segments.length > PATH_DEPTH_MAX ? null : segments.join('/');
}

/** More names than any path that a host tool takes; each name is a node of the tree in which the planner looks. */
function isDeep(path: string): boolean {
  let slashes = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) slashes += 1;
  return slashes >= PATH_DEPTH_MAX;
}

/** An empty segment, `.` or `..`. */
const ODD_SEGMENT = /(?:^|\/)\.{0,2}(?:\/|$)/;

function hasOddCharacter(path: string): boolean {
  for (let index = 0; index < path.length; index += 1) {
    const code = path.charCodeAt(index);
    // Control characters, backslash, and everything outside ASCII (NFC and NFD spell one name in two ways).
    if (code < 0x20 || code > 0x7e || code === 0x5c) return true;
  }
  return false;
}

const MARK = '*** ';
const HEADERS = ['Add File: ', 'Update File: ', 'Delete File: ', 'Move to: '].map((name) => `${MARK}${name}`);

/** All paths that a v4a patch names; null when it names none. A path may have any character but a line feed. */
function patchPaths(patch: string): readonly string[] | null {
  const paths: string[] = [];
  for (let at = patch.startsWith(MARK) ? 0 : nextMark(patch, 0); at !== -1; at = nextMark(patch, at)) {
    const header = HEADERS.find((begin) => patch.startsWith(begin, at));
    if (header === undefined) continue;
    const end = patch.indexOf('\n', at);
    const path = patch.slice(at + header.length, end === -1 ? patch.length : end).trim();
    if (path !== '') paths.push(path);
  }
  return paths.length === 0 ? null : paths;
}

/** Where the next line with a mark begins; -1 without one. */
function nextMark(patch: string, from: number): number {
  const found = patch.indexOf(`\n${MARK}`, from);
  return found === -1 ? -1 : found + 1;
}
