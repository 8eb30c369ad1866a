// The files of `--attach`: what is read, what is refused before anything starts, and how they are stored.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ATTACHMENTS_MAX, ATTACHMENT_BYTES_MAX, BLOB_PART_BYTES } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { readAttachments, storeAttachments } from '../../src/cli/attachments.ts';
import { textsOption } from '../../src/cli/command.ts';
import { PDF, PNG, ZIP, attachmentOf } from '../support/attachments.ts';
import { newWorld } from '../support/engine/world.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refold-attach-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

/** A PNG of this many bytes. */
function pngOf(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  bytes.set(PNG);
  return bytes;
}

describe('the files of --attach', () => {
  test('are stored as blobs, and named by what their bytes say', async () => {
    const { engine } = await newWorld();
    const large = pngOf(BLOB_PART_BYTES + 1);
    const paths = [await file('a.txt', PNG), await file('b.pdf', PDF), await file('c.png', large)];
    const { attachments } = await storeAttachments(engine.client, await readAttachments(paths));
    expect(attachments).toEqual([
      attachmentOf(PNG, 'image/png', 'a.txt'),
      attachmentOf(PDF, 'application/pdf', 'b.pdf'),
      attachmentOf(large, 'image/png', 'c.png'),
    ]);
    for (const { ref, bytes } of attachments ?? []) {
      expect(await must(engine.client.getBlob(ref))).toHaveLength(bytes);
    }
  });

  test('may be none', async () => {
    const { engine } = await newWorld();
    expect(await storeAttachments(engine.client, await readAttachments([]))).toEqual({});
    expect(textsOption({}, 'attach')).toEqual([]);
    expect(textsOption({ attach: ['a', 'b'] }, 'attach')).toEqual(['a', 'b']);
  });

  test('are refused when they are missing, of another type, too large or too many', async () => {
    await expect(readAttachments([join(folder, 'none.png')])).rejects.toThrow(/cannot read .*none\.png/);
    await expect(readAttachments([folder])).rejects.toThrow(/cannot read/);
    const zip = await file('z.png', ZIP);
    await expect(readAttachments([zip])).rejects.toThrow(/z\.png cannot be attached.*image\/png, .*application\/pdf/);
    const large = await file('l.png', pngOf(ATTACHMENT_BYTES_MAX + 1));
    await expect(readAttachments([large])).rejects.toThrow(/has 16777217 bytes; an attachment has at most 16777216/);
    const one = await file('one.png', PNG);
    await expect(readAttachments(Array.from({ length: ATTACHMENTS_MAX + 1 }, () => one))).rejects.toThrow(
      /17 files are attached; at most 16/,
    );
  });
});
