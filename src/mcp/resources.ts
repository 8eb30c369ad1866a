// What a host may read: the state and the timeline of its session, each as one JSON text made when it is read, and the blobs that
// results name. Nothing can be written, and there are no templates.
import { ProtocolError, ProtocolErrorCode, type ReadResourceResult, type Resource } from '@modelcontextprotocol/server';
import { isLeft } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../schemas/canonical.ts';
import { sniffMediaType } from '../../schemas/content.ts';
import { Digest, type SessionId } from '../../schemas/ids.ts';
import { HOST_BLOB_BYTES_MAX, HOST_TIMELINE_TURNS_MAX } from '../../schemas/limits.ts';
import type { EngineClient } from '../client/client.ts';
import { must } from '../client/must.ts';
import { foldStored } from '../client/watch/stored-stream.ts';
import { type TurnTimeline, newTimeline } from '../core/timeline.ts';
import { pause } from '../turns.ts';

const MEDIA_TYPE = 'application/json';

const RESOURCES = {
  state: 'The state of the session after its last event',
  timeline: `The last ${HOST_TIMELINE_TURNS_MAX} turns: when each call waited and ran, in milliseconds since 1970`,
} as const;

type ResourceName = keyof typeof RESOURCES;

const uriOf = (session: SessionId, name: ResourceName): string => `refold://session/${session}/${name}`;

export const listedResources = (session: SessionId): Resource[] =>
  (Object.keys(RESOURCES) as readonly ResourceName[]).map((name) => ({
    uri: uriOf(session, name),
    name,
    description: RESOURCES[name],
    mimeType: MEDIA_TYPE,
  }));

export async function readResource(client: EngineClient, session: SessionId, uri: string): Promise<ReadResourceResult> {
  const ref = uri.startsWith(BLOB_URI) ? uri.slice(BLOB_URI.length) : null;
  if (Digest.is(ref)) return { contents: [await readBlob(client, uri, ref)] };
  const name = (Object.keys(RESOURCES) as readonly ResourceName[]).find((known) => uriOf(session, known) === uri);
  if (name === undefined) {
    const known = listedResources(session).map((resource) => resource.uri);
    const message = `there is no resource ${uri.slice(0, 256)}. There are: ${known.join(', ')}`;
    throw new ProtocolError(ProtocolErrorCode.ResourceNotFound, message, { uri });
  }
  const text = name === 'state' ? await stateText(client, session) : await timelineText(client, session);
  return { contents: [{ uri, mimeType: MEDIA_TYPE, text }] };
}

/** The address of a blob: results name what they do not bring. */
const BLOB_URI = 'refold://blob/';

export const blobUri = (ref: Digest): string => `${BLOB_URI}${ref}`;

async function readBlob(
  client: EngineClient,
  uri: string,
  ref: Digest,
): Promise<ReadResourceResult['contents'][number]> {
  const found = await client.getBlob(ref)();
  if (isLeft(found)) throw new ProtocolError(ProtocolErrorCode.ResourceNotFound, found.left.message, { uri });
  const bytes = found.right;
  if (bytes.length > HOST_BLOB_BYTES_MAX) {
    const message = `the blob has ${bytes.length} bytes, more than the ${HOST_BLOB_BYTES_MAX} that are sent`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, { uri });
  }
  const text = textOf(bytes);
  if (text !== null) return { uri, mimeType: 'text/plain', text };
  const mimeType = sniffMediaType(bytes.subarray(0, 64)) ?? 'application/octet-stream';
  return { uri, mimeType, blob: Buffer.from(bytes).toString('base64') };
}

/** Null when the bytes are not UTF-8, or hold a zero. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return bytes.includes(0) ? null : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

async function stateText(client: EngineClient, session: SessionId): Promise<string> {
  const { state, state_digest } = await must(client.session(session));
  return canonicalText({ state, state_digest });
}

async function timelineText(client: EngineClient, session: SessionId): Promise<string> {
  const timeline = newTimeline();
  const turns: TurnTimeline[] = [];
  for await (const { events } of foldStored(client, session, pause)) {
    for (const folded of events) {
      const over = timeline.add(folded);
      if (over !== null) turns.push(over);
    }
    if (turns.length > HOST_TIMELINE_TURNS_MAX) turns.splice(0, turns.length - HOST_TIMELINE_TURNS_MAX);
  }
  const open = timeline.open();
  return JSON.stringify({ session, turns, open });
}
