// The result of a call of an MCP tool becomes the report of the call: texts are the output, images and PDFs are attachments, links
// and resources are lines of the output. What the server calls an error is a failure that the model reads.
import { Buffer } from 'node:buffer';
import { type Attachment, type MediaType, sniffMediaType } from '../../schemas/content.ts';
import { type Json, type JsonObject, isJson, isPlainObject } from '../../schemas/json.ts';
import { ATTACHMENTS_MAX, ATTACHMENT_BYTES_MAX } from '../../schemas/limits.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import type { CallContext } from '../executors/executors.ts';
import { hasInSlices } from '../secrets/has-in-slices.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { boundedContent } from './raw-results.ts';
import type { SchemaThread } from './schema-thread.ts';

interface ResultPorts {
  readonly context: Pick<CallContext, 'putBlob'>;
  readonly schemas: Pick<SchemaThread, 'valueFault'>;
  /** Knows the secrets of the server, tokens of a login among them. */
  readonly redactor: Pick<Redactor, 'has' | 'reach'>;
}

export async function reportOf(
  result: Readonly<Record<string, unknown>>,
  outputSchema: JsonObject | null,
  { context, schemas, redactor }: ResultPorts,
): Promise<CallReport> {
  const { content, structuredContent, isError } = result;
  const mapped = await mapContent(Array.isArray(content) ? content : [], { context, redactor });
  const structured = structuredContent === undefined ? null : structuredOf(structuredContent);
  const text = mapped.lines.join('\n') || (structured === null ? '' : JSON.stringify(structured.value));
  const attachments = mapped.attachments.length === 0 ? {} : { attachments: mapped.attachments };
  // The model reads what went wrong, and goes on.
  if (isError === true)
    return {
      ...failedReport('tool_error', text || 'the tool failed and did not say why'),
      needsFollowup: true,
      ...attachments,
    };
  const fault = await structuredFault(structured, outputSchema, schemas);
  if (fault !== null) return { ...failedReport('invalid_output', fault), needsFollowup: true };
  const data = structured !== null && isPlainObject(structured.value) ? { data: structured.value } : {};
  return { success: true, text, ...data, ...attachments };
}

interface Structured {
  /** Null for a value that cannot be recorded. */
  readonly value: Json;
  readonly isSound: boolean;
}

const structuredOf = (value: unknown): Structured =>
  isJson(value) ? { value, isSound: true } : { value: null, isSound: false };

async function structuredFault(
  structured: Structured | null,
  outputSchema: JsonObject | null,
  schemas: ResultPorts['schemas'],
): Promise<string | null> {
  if (structured?.isSound === false)
    return 'the structured content holds what JSON cannot, such as -0 or the key __proto__';
  if (outputSchema === null) return null;
  if (structured === null) return 'the tool promises structured content, and the result has none';
  const fault = await schemas.valueFault(outputSchema, structured.value);
  return fault === null ? null : `the structured content does not fit the schema of the tool: ${fault}`;
}

interface Mapped {
  readonly lines: string[];
  readonly attachments: Attachment[];
}

type BytesPorts = Pick<ResultPorts, 'context' | 'redactor'>;

async function mapContent(content: readonly unknown[], ports: BytesPorts): Promise<Mapped> {
  const mapped: Mapped = { lines: [], attachments: [] };
  for (const block of boundedContent(content)) {
    if (isPlainObject(block)) await mapBlock(block, mapped, ports);
    else mapped.lines.push('[a part that is no content]');
  }
  return mapped;
}

type Block = Readonly<Record<string, unknown>>;

async function mapBlock(block: Block, mapped: Mapped, ports: BytesPorts): Promise<void> {
  const { type } = block;
  if (type === 'text') mapped.lines.push(textOf(block['text']));
  else if (type === 'image' || type === 'audio') {
    await mapBytes({ what: type, data: block['data'], mime: block['mimeType'], name: null }, mapped, ports);
  } else if (type === 'resource_link') mapped.lines.push(linkLine(block));
  else if (type === 'resource' && isPlainObject(block['resource'])) await mapResource(block['resource'], mapped, ports);
  else mapped.lines.push(`[a part of the unknown type ${shortly(type)}]`);
}

async function mapResource(resource: Block, mapped: Mapped, ports: BytesPorts): Promise<void> {
  const { uri, mimeType: mime, text, blob } = resource;
  if (typeof text === 'string') mapped.lines.push(`[resource ${shortly(uri)}]`, textOf(text));
  else await mapBytes({ what: 'resource', data: blob, mime, name: shortly(uri) }, mapped, ports);
}

interface Bytes {
  readonly what: string;
  readonly data: unknown;
  readonly mime: unknown;
  readonly name: string | null;
}

/** Images and PDFs go to the model. Other bytes are kept as a blob, and a line says which. */
async function mapBytes(
  { what, data, mime, name }: Bytes,
  mapped: Mapped,
  { context, redactor }: BytesPorts,
): Promise<void> {
  const label = `${what}${name === null ? '' : ` ${name}`} of the type ${shortly(mime ?? 'unknown')}`;
  if (typeof data !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(data)) {
    mapped.lines.push(`[${label}: its bytes are not base64]`);
    return;
  }
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length > ATTACHMENT_BYTES_MAX || bytes.length === 0) {
    mapped.lines.push(`[${label}: ${bytes.length} bytes, which are not kept]`);
    return;
  }
  if (await hasInSlices(bytes, redactor)) {
    mapped.lines.push(`[${label}: it holds a secret, and is not kept]`);
    return;
  }
  const media: MediaType | null = sniffMediaType(bytes.subarray(0, 64));
  const ref = await context.putBlob(bytes);
  if (media !== null && mapped.attachments.length < ATTACHMENTS_MAX) {
    mapped.attachments.push({ ref, bytes: bytes.length, media_type: media });
    mapped.lines.push(`[${label}: attached]`);
  } else mapped.lines.push(`[${label}: blob ${ref}, ${bytes.length} bytes]`);
}

function linkLine({ uri, name, title, description, mimeType }: Block): string {
  const about = [title ?? name, description, mimeType]
    .filter((part) => typeof part === 'string' && part !== '')
    .map(shortly);
  return `[link ${shortly(uri)}${about.length === 0 ? '' : `: ${about.join('; ')}`}]`;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.toWellFormed() : '[a text that is none]');

/** One line of at most 512 characters. */
const shortly = (value: unknown): string =>
  String(value)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .slice(0, 512)
    .toWellFormed();
