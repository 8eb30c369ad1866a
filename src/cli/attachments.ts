// The files of `--attach`: read and recognised before anything starts, then stored as blobs.
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Attachments, MEDIA_TYPES, type MediaType, sniffMediaType } from '../../schemas/content.ts';
import { ATTACHMENTS_MAX, ATTACHMENT_BYTES_MAX, ATTACHMENT_NAME_CHARS_MAX } from '../../schemas/limits.ts';
import type { EngineClient } from '../client/client.ts';
import { must } from '../client/must.ts';
import { uploadBlob } from '../client/upload-blob.ts';
import { cannotRead } from './files.ts';
import { CommandFailure } from './output.ts';

export interface FileToAttach {
  readonly bytes: Uint8Array;
  readonly media_type: MediaType;
  readonly name: string;
}

/** The files at these paths. Ends the command when one cannot be read or cannot be attached. */
export async function readAttachments(paths: readonly string[]): Promise<readonly FileToAttach[]> {
  if (paths.length > ATTACHMENTS_MAX) {
    const message = `${paths.length} files are attached; at most ${ATTACHMENTS_MAX} go with one message`;
    throw new CommandFailure('invalid_shape', message);
  }
  const files: FileToAttach[] = [];
  for (const path of paths) files.push(await readAttachment(path));
  return files;
}

async function readAttachment(path: string): Promise<FileToAttach> {
  const unreadable = (error: unknown): never => {
    throw cannotRead(path, error);
  };
  const { size } = await stat(path).catch(unreadable);
  if (size > ATTACHMENT_BYTES_MAX) {
    throw new CommandFailure(
      'too_large',
      `${path} has ${size} bytes; an attachment has at most ${ATTACHMENT_BYTES_MAX}`,
    );
  }
  const bytes = await readFile(path).catch(unreadable);
  const media_type = sniffMediaType(bytes);
  if (media_type === null) {
    const message = `${path} cannot be attached: by its first bytes it is none of ${MEDIA_TYPES.join(', ')}`;
    throw new CommandFailure('invalid_value', message);
  }
  return { bytes, media_type, name: basename(path).toWellFormed().slice(0, ATTACHMENT_NAME_CHARS_MAX).toWellFormed() };
}

/** Stores the files; the field of an event that names them, or none. */
export async function storeAttachments(
  client: EngineClient,
  files: readonly FileToAttach[],
): Promise<{ readonly attachments?: Attachments }> {
  if (files.length === 0) return {};
  const attachments: Attachments[number][] = [];
  for (const { bytes, media_type, name } of files) {
    attachments.push({ ref: await must(uploadBlob(client, bytes)), bytes: bytes.length, media_type, name });
  }
  return { attachments };
}
