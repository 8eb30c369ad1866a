// The digest of a folder: of the paths and the bytes of its files, and of nothing else. Anyone can compute it with a JSON
// canonicaliser and sha256sum: the SHA-256 digest of the canonical JSON of ["refold/folder/1", [[path, digest], …]], with the
// files in the order of the bytes of their paths.
import { digestJson, digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { TreeFile } from '../files/read-tree.ts';

export interface FileDigest {
  readonly path: string;
  readonly bytes: number;
  readonly digest: Digest;
}

export const fileDigests = (files: readonly TreeFile[]): readonly FileDigest[] =>
  files.map(({ path, bytes }) => ({ path, bytes: bytes.length, digest: digestText(bytes) }));

/** `files` in the order of {@link readTree}. */
export const folderDigest = (files: readonly FileDigest[]): Digest =>
  digestJson(['refold/folder/1', files.map(({ path, digest }) => [path, digest])]);
