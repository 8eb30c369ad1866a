// Writes and reads the text of genesis records. Most of it is the tool package, which thousands of sessions share, so a
// package is encoded, parsed and checked once.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest } from '../../schemas/ids.ts';
import { type Json, freezeJson, isPlainObject, parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { noteGenesisChain } from './chain.ts';
import { checkGenesis } from './initial-state.ts';
import { knownParts, partsOf } from './package-parts.ts';

/** The canonical text (RFC 8785) of a genesis record that {@link checkGenesis} accepts. */
export function genesisText(genesis: Genesis): string {
  const bare = canonicalText({ ...genesis, tool_package: HOLE });
  // Only a digest and a number follow the package, so the last match is the right one.
  const at = bare.lastIndexOf(`${NAME}${HOLE},`) + NAME.length;
  return `${bare.slice(0, at)}${partsOf(genesis.tool_package).text}${bare.slice(at + HOLE_CHARS)}`;
}

/** The genesis record of a text, frozen, with its shape, tool package and package digest checked; or a rejection. */
export function readGenesisText(text: string): Either<Rejection, Genesis> {
  const bare = withoutPackage(text);
  if (bare === null) {
    const parsed = parseJson(text, BLOB_BYTES_MAX);
    return isLeft(parsed) ? parsed : checkGenesis(freezeJson(parsed.right));
  }
  const checked = checkGenesis(freezeJson(bare));
  // The whole text is canonical, so its digest is that of the record.
  if (!isLeft(checked)) noteGenesisChain(checked.right, digestText(text));
  return checked;
}

/** The placeholder for the package: no valid record has a number there. */
const HOLE = 0;
const HOLE_CHARS = 1;
const NAME = '"tool_package":';
const DIGEST_NAME = ',"tool_package_digest":';
const TAIL = /^,"tool_package_digest":"(sha256:[0-9a-f]{64})","v":[0-9]+\}$/;

/** The record of a canonical text with a known package, parsed without that package; null for any other text. */
function withoutPackage(text: string): Json | null {
  const end = text.lastIndexOf(DIGEST_NAME);
  const tail = TAIL.exec(end === -1 ? '' : text.slice(end));
  const parts = tail === null ? null : knownParts(tail[1] as Digest);
  if (tail === null || parts === null) return null;
  const at = end - parts.text.length;
  if (at < NAME.length || !text.startsWith(NAME, at - NAME.length) || !text.startsWith(parts.text, at)) return null;
  const around = `${text.slice(0, at)}${HOLE}${tail[0]}`;
  const parsed = parseJson(around, BLOB_BYTES_MAX);
  if (isLeft(parsed) || !isPlainObject(parsed.right) || canonicalText(parsed.right) !== around) return null;
  return parsed.right['tool_package'] === HOLE ? { ...parsed.right, tool_package: parts.tool_package } : null;
}
