// An image and a PDF, in a message of the user and in a result, through every dialect: each goes to the model whole, or a
// text says which one does not.
import { describe, expect, test } from 'vitest';
import { loadDialect } from '../../../bridge/providers/api/dialects.ts';
import type { Message, MessageAttachment } from '../../../bridge/providers/provider.ts';
import { MODEL_SERVER_NAMES, type ModelServerName } from '../../../src/files/model-servers.ts';
import { PDF, PNG } from '../../support/attachments.ts';
import { requestWith } from '../../support/providers/any-chat.ts';

const MODELS: Readonly<Record<ModelServerName, string>> = {
  'openai-chat': 'gpt-5-mini',
  'openai-responses': 'gpt-5-mini',
  anthropic: 'claude-sonnet-4-5',
  'vertex-anthropic': 'claude-sonnet-4-5',
  gemini: 'gemini-2.5-pro',
  bedrock: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
};

/** Files that differ in each place, so that none can be taken for another. */
const files = (mark: number): readonly MessageAttachment[] => [
  { media_type: 'image/png', name: `${mark}.png`, bytes: Uint8Array.of(...PNG, mark) },
  { media_type: 'application/pdf', name: `${mark}.pdf`, bytes: Uint8Array.of(...PDF, mark) },
];

const call = { id: 'call-1', name: 'look', arguments: '{}' };
const chat = (is_error: boolean): readonly Message[] => [
  { role: 'user', text: 'See these.', attachments: files(1) },
  { role: 'assistant', text: '', calls: [call] },
  { role: 'tool', call_id: call.id, name: 'look', text: 'seen', is_error, attachments: files(2) },
];

async function bodyOf(name: ModelServerName, messages: readonly Message[]): Promise<string> {
  const model = MODELS[name];
  const dialect = await loadDialect(name);
  return dialect.encode(requestWith(messages, model), { model, baseUrl: 'https://api.example.com', stream: true }).body;
}

const base64 = ({ bytes }: MessageAttachment): string => Buffer.from(bytes).toString('base64');
const count = (text: string, part: string): number => text.split(part).length - 1;

describe.each(MODEL_SERVER_NAMES)('%s', (name) => {
  test.each([false, true])('sends each file once, with its type (the result is an error: %s)', async (is_error) => {
    const body = await bodyOf(name, chat(is_error));
    for (const file of [...files(1), ...files(2)]) expect(count(body, base64(file))).toBe(1);
    // Bedrock names the formats without the first part.
    for (const type of name === 'bedrock' ? ['"png"', '"pdf"'] : ['image/png', 'application/pdf']) {
      expect(count(body, type)).toBe(2);
    }
    expect(body.indexOf(base64(files(1)[0] as MessageAttachment))).toBeLessThan(
      body.indexOf(base64(files(2)[0] as MessageAttachment)),
    );
  });

  test('sends a message that has only files', async () => {
    const body = await bodyOf(name, [{ role: 'user', text: '', attachments: files(1) }]);
    for (const file of files(1)) expect(count(body, base64(file))).toBe(1);
  });
});

test('a model behind Converse that takes no files in results is told which ones are left out', async () => {
  const dialect = await loadDialect('bedrock');
  const model = 'meta.llama3-2-1b-instruct-v1:0';
  const target = { model, baseUrl: 'https://api.example.com', stream: true };
  const { body } = dialect.encode(requestWith(chat(false), model), target);
  for (const file of files(2)) {
    expect(body).toContain(`The file ${file.name ?? ''} (${file.media_type}) was left out`);
    expect(body).not.toContain(base64(file));
  }
});
