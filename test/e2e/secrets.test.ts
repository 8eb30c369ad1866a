// A key that a command prints, in every encoding, is in no byte that refold stores, prints or sends.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshDirectory, refoldProcess, writeRecording } from '../support/e2e/refold.ts';

const CANARY = 'sk-canary-4f9aKk27"x/&%zR81';

/** Prints the canary in every encoding, to both streams, in the text of an error, and more than one result may hold. */
const PRINTS = `
  const secret = require('node:fs').readFileSync('key.txt', 'utf8');
  const json = (text) => JSON.stringify(text);
  const base64 = (text) => Buffer.from(text).toString('base64');
  const forms = [secret, json(secret), json(json(secret)), json(secret).replaceAll('/', '\\\\/'), encodeURIComponent(secret),
    secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;'), Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('hex').toUpperCase(), Buffer.from(secret).toString('base64url'), base64(secret),
    base64('u' + secret), base64('me:' + secret), base64('user:' + secret + '\\n')];
  for (const form of forms) { console.log(form); console.error('error: ' + form); }
  for (let line = 0; line < 4000; line += 1) console.log(line + ' ' + forms[line % forms.length]);
  process.exit(3);`;

const needles = (): readonly string[] => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const whole = [CANARY, CANARY.slice(0, 16), Buffer.from(CANARY).toString('hex'), encodeURIComponent(CANARY)];
  // The middle of each base64 form: its ends belong in part to the text around it.
  const offsets = ['', 'u', 'me'].map((before) => base64(before + CANARY).slice(4, -4));
  return [...whole, ...offsets, ...offsets.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
};

async function allBytes(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n');
}

test('a key that a command prints in every encoding is in no byte of the data directory or of the output', async () => {
  const home = await freshDirectory();
  const workspace = await freshDirectory(true);
  await writeFile(join(workspace, 'key.txt'), CANARY);
  await writeFile(join(workspace, 'prints.cjs'), PRINTS);
  const recording = await writeRecording(home, [
    { calls: [{ id: 'a', name: 'open_session', arguments: {} }] },
    { calls: [{ id: 'b', name: 'shell', arguments: { argv: [process.execPath, 'prints.cjs'] } }] },
    { calls: [{ id: 'c', name: 'read_file', arguments: { path: 'key.txt' } }] },
    { calls: [{ id: 'd', name: 'grep', arguments: { pattern: 'canary' } }] },
    { content: `The key is ${CANARY}.` },
  ]);
  const data = join(home, 'data');
  const places = ['--data-dir', data, '--workspace', workspace, '--recording', recording];
  const ended = await refoldProcess(['run', 'go', ...places, '--sandbox', 'none', '--yes', '--json'], {
    OPENAI_API_KEY: CANARY,
    OTHER_TOKEN: 'ollama',
  });
  expect(ended.code).toBe(0);
  const stored = await allBytes(data);
  const kept = { stdout: ended.stdout, stderr: ended.stderr, stored };
  const found = needles().flatMap((needle) =>
    Object.entries(kept).flatMap(([where, text]) => (text.includes(needle) ? [`${needle} in ${where}`] : [])),
  );
  expect(found).toEqual([]);
  expect(ended.stdout).toContain('‹secret›');
  expect(stored).toContain(Buffer.from('‹secret›').toString('latin1'));
  expect(ended.stderr.match(/the secret from OTHER_TOKEN has fewer than 16 characters/g)).toHaveLength(1);
  expect(ended.stderr).not.toContain('ollama');
});
