// A small file of JSON with its own checksum, beside LevelDB's files. It need not survive a power cut: one that is missing,
// torn or altered says nothing.
import { Buffer } from 'node:buffer';
import { readFile, writeFile } from 'node:fs/promises';
import { crc32c } from './crc32c.ts';

/** The value in the file; null when there is none or its checksum does not match. */
export async function readChecksummed(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const [body = '', sum = ''] = text.split('\n');
  if (sum !== sumOf(body)) return null;
  try {
    return JSON.parse(body) as unknown;
  } catch {
    // Not written by this program: the checksum is no secret.
    return null;
  }
}

export async function writeChecksummed(path: string, value: unknown): Promise<void> {
  const body = JSON.stringify(value);
  await writeFile(path, `${body}\n${sumOf(body)}\n`, { mode: 0o600 });
}

const sumOf = (body: string): string => crc32c(Buffer.from(body)).toString(16).padStart(8, '0');
