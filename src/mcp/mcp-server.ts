// An MCP server over one session of refold: what a host calls goes through schema, plan, consent and log like the call of a
// model. The same handlers serve every revision of the protocol that the SDK speaks.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type CallToolResult,
  type ClientCapabilities,
  type Implementation,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { JsonObject } from '../../schemas/json.ts';
import { HOST_HOLD_MS } from '../../schemas/limits.ts';
import { unreachable } from '../../schemas/rejection.ts';
import type { Clock } from '../clock.ts';
import { type PersonEffect, personEffects } from '../core/status.ts';
import { PACKAGE_VERSION } from '../version.ts';
import { findEnded } from './call-ends.ts';
import type { Host } from './host.ts';
import type { CallAnswer } from './host-calls.ts';
import { type CallToken, askHost, asksMessage, hostAnswer, hostQuestionOf, tellHost, tokenOf } from './questions.ts';
import { listedResources, readResource } from './resources.ts';
import { listedTools, outputSchemaOf, specOf } from './tool-list.ts';
import { errorResult, toolResult } from './tool-result.ts';

export interface McpServerOptions {
  readonly host: Host;
  /** Seals what a host brings back. */
  readonly codec: RequestStateCodec<CallToken>;
  /** The answers of the host's person count. */
  readonly hostAnswers: boolean;
  readonly clock: Clock;
  /** Names the data directory in commands, where it is not the usual one; empty otherwise. */
  readonly place: string;
}

export function newMcpServer(options: McpServerOptions): Server {
  const { host, codec } = options;
  const server = new Server(
    { name: 'refold', version: PACKAGE_VERSION },
    {
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
      instructions: `Calls are recorded in the session ${host.session} of refold; some wait for a person.`,
      requestState: { verify: (state, context) => codec.verify(state, context) },
    },
  );
  server.setRequestHandler('tools/list', () => ({ tools: listedTools(host.state()) }));
  server.setRequestHandler('tools/call', (request, context) => {
    const { name, arguments: args = {} } = request.params;
    return callTool({ ...options, server, context }, name, args as JsonObject);
  });
  server.setRequestHandler('resources/list', () => ({ resources: listedResources(host.session) }));
  // Hosts ask for both where there are resources; there are none of either.
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('prompts/list', () => ({ prompts: [] }));
  server.setRequestHandler('resources/read', ({ params }) => readResource(host.client, host.session, params.uri));
  return server;
}

/** Tells the host of a connection, until the returned function is called, that its tools have changed. */
export function tellOfTools(host: Host, tell: () => void): () => void {
  let { ordered_tools: known } = host.state().effective_tools;
  return host.onState(({ effective_tools: { ordered_tools } }) => {
    if (ordered_tools === known) return;
    known = ordered_tools;
    tell();
  });
}

interface Asked extends McpServerOptions {
  readonly server: Server;
  readonly context: ServerContext;
}

type Answered = CallToolResult | InputRequiredResult;

async function callTool(asked: Asked, name: string, args: JsonObject): Promise<Answered> {
  const { host, context } = asked;
  const token = context.mcpReq.requestState<CallToken>();
  const spec = specOf(host.state(), name);
  if (token !== undefined) return await goOn(asked, token, outputSchemaOf(spec ?? NO_SCHEMA));
  if (spec === undefined) {
    const message = `there is no tool ${JSON.stringify(name.slice(0, 128))}; list the tools again`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const progress = newProgress(context);
  await progress.tell('received');
  const answer = await host.calls.call(name, args, {
    signal: context.mcpReq.signal,
    onRecorded: () => void progress.tell('recorded'),
    onStarted: () => void progress.tell('running'),
  });
  if (answer.kind === 'ended') await progress.tell('ended');
  return await answered(asked, answer, outputSchemaOf(spec));
}

const NO_SCHEMA = { executor: { kind: 'workflow', workflow: 'none' } } as Parameters<typeof outputSchemaOf>[0];

/** The host comes back to a call, perhaps with the answer of its person. */
async function goOn(asked: Asked, token: CallToken, schema: JsonObject | undefined): Promise<Answered> {
  const { host, context } = asked;
  if (token.session !== host.session) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `the call belongs to the session ${token.session}`);
  }
  const action = personEffects(host.state()).find(({ call_id }) => call_id === token.call_id);
  if (action !== undefined && hostQuestionOf(action) === token.question && asked.hostAnswers) {
    const event = hostAnswer(action, context.mcpReq.inputResponses, clientName(asked));
    const refused = event === null ? null : await host.submit(event);
    if (refused !== null) return errorResult(refused.code, refused.message);
  }
  const hold = new AbortController();
  const release = (): void => hold.abort();
  const cancel = asked.clock.after(HOST_HOLD_MS, release);
  context.mcpReq.signal.addEventListener('abort', release, { once: true });
  const answer = await host.calls.again(token.call_id, hold.signal);
  cancel();
  if (answer !== null) return await answered(asked, answer, schema);
  const ended = await findEnded(host.client, host.session, token.call_id);
  return ended === null
    ? errorResult('unknown_call', `${host.session} has no call ${token.call_id}`)
    : await toolResult(host.client, ended, schema);
}

async function answered(asked: Asked, answer: CallAnswer, schema: JsonObject | undefined): Promise<Answered> {
  const { host, place } = asked;
  switch (answer.kind) {
    case 'ended':
      return await toolResult(host.client, answer.call, schema);
    case 'asks':
      return await ask(asked, answer.action);
    case 'busy':
      return errorResult('busy', `the call was not made or waits, because ${asksMessage(answer.action, place)}`);
    case 'refused':
      return errorResult(answer.code, answer.why);
  }
  return unreachable(answer);
}

async function ask(asked: Asked, action: PersonEffect): Promise<Answered> {
  const { codec, context, hostAnswers, place } = asked;
  const isModern = context.mcpReq.envelope !== undefined;
  const canShow = capabilitiesOf(asked)?.elicitation !== undefined;
  const message = asksMessage(action, place);
  if (!isModern && !(canShow && hostAnswers)) return errorResult('waits_for_person', `${message}. Then call again.`);
  const state = await codec.mint(tokenOf(action), context);
  return canShow && hostAnswers ? askHost(action, state) : tellHost(`${message}.`, state, canShow);
}

const capabilitiesOf = ({ context, server }: Asked): ClientCapabilities | undefined =>
  (envelopeOf(context, CLIENT_CAPABILITIES_META_KEY) as ClientCapabilities | undefined) ??
  server.getClientCapabilities();

/** What a request of the newer protocol says beside its parameters; older hosts said it once, when they connected. */
const envelopeOf = ({ mcpReq }: ServerContext, key: string): unknown =>
  (mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[key];

/** Whom an answer of the host's person is recorded as given by. */
function clientName({ context, server }: Asked): string {
  const info = (envelopeOf(context, CLIENT_INFO_META_KEY) as Implementation | undefined) ?? server.getClientVersion();
  return `mcp-host:${info?.name ?? 'unnamed'}`.slice(0, 128).toWellFormed();
}

/** The stages of a call, of which the log says when each was reached. */
const STAGES = ['received', 'recorded', 'running', 'ended'] as const;
type Stage = (typeof STAGES)[number];

/** Reports the stages of a call to a host that asked for progress; each at most once, in order. */
function newProgress({ mcpReq }: ServerContext): { tell(stage: Stage): Promise<void> } {
  const progressToken = mcpReq._meta?.progressToken;
  let reached = -1;
  return {
    async tell(stage) {
      const progress = STAGES.indexOf(stage);
      if (progressToken === undefined || progress <= reached) return;
      reached = progress;
      const params = { progressToken, progress, total: STAGES.length - 1, message: stage };
      // A host that is gone gets none.
      await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
    },
  };
}
