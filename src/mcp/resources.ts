// What a host may read of its session: the state and the timeline, each as one JSON text made when it is read. Nothing can be
// written, and there are no templates.
import { ProtocolError, ProtocolErrorCode, type ReadResourceResult, type Resource } from '@modelcontextprotocol/server';
import { canonicalText } from '../../schemas/canonical.ts';
import type { SessionId } from '../../schemas/ids.ts';
import { HOST_TIMELINE_TURNS_MAX } from '../../schemas/limits.ts';
import type { EngineClient } from '../client/client.ts';
import { must } from '../client/must.ts';
import { foldStored } from '../client/watch/stored-stream.ts';
import { type TurnTimeline, newTimeline } from '../core/timeline.ts';

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
  const name = (Object.keys(RESOURCES) as readonly ResourceName[]).find((known) => uriOf(session, known) === uri);
  if (name === undefined) {
    const known = listedResources(session).map((resource) => resource.uri);
    const message = `there is no resource ${uri.slice(0, 256)}. There are: ${known.join(', ')}`;
    throw new ProtocolError(ProtocolErrorCode.ResourceNotFound, message, { uri });
  }
  const text = name === 'state' ? await stateText(client, session) : await timelineText(client, session);
  return { contents: [{ uri, mimeType: MEDIA_TYPE, text }] };
}

async function stateText(client: EngineClient, session: SessionId): Promise<string> {
  const { state, state_digest } = await must(client.session(session));
  return canonicalText({ state, state_digest });
}

async function timelineText(client: EngineClient, session: SessionId): Promise<string> {
  const timeline = newTimeline();
  const turns: TurnTimeline[] = [];
  for await (const { events } of foldStored(client, session)) {
    for (const folded of events) {
      const over = timeline.add(folded);
      if (over !== null) turns.push(over);
    }
    if (turns.length > HOST_TIMELINE_TURNS_MAX) turns.splice(0, turns.length - HOST_TIMELINE_TURNS_MAX);
  }
  const open = timeline.open();
  return JSON.stringify({ session, turns, open });
}
