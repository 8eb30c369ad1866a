// What a host gets of a call that has ended: the text that a model would read, its images and files, and its data.
import { type CallToolResult, type ContentBlock, isCallToolResult } from '@modelcontextprotocol/server';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Attachment } from '../../schemas/content.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { HOST_BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import type { EngineClient } from '../client/client.ts';
import { storedArguments, storedText } from '../client/stored-arguments.ts';
import type { EndedCall } from './call-ends.ts';
import { blobUri } from './resources.ts';

/** `output`: the schema of the data that the host was told of. */
export async function toolResult(
  client: Pick<EngineClient, 'getBlob'>,
  { call, handle, status, code, output, result, data_ref, attachments }: EndedCall,
  schema: JsonObject | undefined,
): Promise<CallToolResult> {
  const data = result?.data ?? (await storedArguments(client, data_ref)) ?? undefined;
  const text = output === null ? null : await storedText(client, output);
  const files = await Promise.all(attachments.map((attachment) => fileBlock(client, attachment)));
  const failed = status !== 'succeeded';
  const blocks = contentIn(data);
  const said: ContentBlock[] = blocks ?? (text === null || text === '' ? [] : [textBlock(text)]);
  const changed = call.call_id === handle ? [] : [textBlock(await changedText(client, call))];
  const content = [...changed, ...said, ...files];
  return {
    content: content.length === 0 ? [textBlock(failed ? `error: ${code ?? status}` : 'done')] : content,
    ...(failed ? { isError: true } : {}),
    ...(schema === undefined || data === undefined ? {} : { structuredContent: data }),
  };
}

/** The model must know that what ran is not what it called. */
async function changedText(client: Pick<EngineClient, 'getBlob'>, call: EndedCall['call']): Promise<string> {
  const args = call.arguments ?? (await storedArguments(client, call.arguments_ref));
  return `A person changed the arguments of this call to ${JSON.stringify(args).slice(0, CHANGED_CHARS)}`;
}

/** Characters of changed arguments that a host reads. */
const CHANGED_CHARS = 2_000;

const textBlock = (text: string): ContentBlock => ({ type: 'text', text });

export const errorResult = (code: string, message: string): CallToolResult => ({
  content: [textBlock(`error: ${code}: ${message}`)],
  isError: true,
});

/** The blocks of a tool that gives its output in the form of MCP, as data with the one field `content`. */
function contentIn(data: JsonObject | undefined): ContentBlock[] | null {
  const content = data?.['content'];
  if (data === undefined || !Array.isArray(content) || Object.keys(data).length !== 1 || content.length === 0)
    return null;
  const result: unknown = { content };
  return isCallToolResult(result) ? [...result.content] : null;
}

async function fileBlock(
  client: Pick<EngineClient, 'getBlob'>,
  { ref, bytes, media_type, name }: Attachment,
): Promise<ContentBlock> {
  const called = name ?? ref;
  if (bytes > HOST_BLOB_BYTES_MAX) {
    return textBlock(`[${called}: ${media_type}, ${bytes} bytes, more than the ${HOST_BLOB_BYTES_MAX} that are sent]`);
  }
  const blob = await client.getBlob(ref)();
  if (isLeft(blob)) return textBlock(`[${called}: ${media_type}, not available: ${blob.left.code}]`);
  const data = Buffer.from(blob.right).toString('base64');
  if (media_type.startsWith('image/')) return { type: 'image', data, mimeType: media_type };
  return { type: 'resource', resource: { uri: blobUri(ref), mimeType: media_type, blob: data } };
}
