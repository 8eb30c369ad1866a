// An MCP server over one session of refold: what a host calls goes through schema, plan, consent and log like the call of a
// model. The same handlers serve every revision of the protocol that the SDK speaks.
import { type ProtocolEra, Server } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../schemas/json.ts';
import { PACKAGE_VERSION } from '../version.ts';
import { type McpServerOptions, TASKS_EXTENSION } from './asked.ts';
import { answerToolCall } from './call-tool.ts';
import type { Host } from './host.ts';
import { listedResources, readResource } from './resources.ts';
import { addTasks } from './tasks.ts';
import { listedTools } from './tool-list.ts';

/** `era`: the protocol of the connection; what each calls a task differs. */
export function newMcpServer(options: McpServerOptions, era: ProtocolEra): Server {
  const { host, codec } = options;
  const tasks =
    era === 'modern'
      ? { extensions: { [TASKS_EXTENSION]: {} } }
      : { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const server = new Server(
    { name: 'refold', version: PACKAGE_VERSION },
    {
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {}, ...tasks },
      instructions: `Calls are recorded in the session ${host.session} of refold; some wait for a person.`,
      requestState: { verify: (state, context) => codec.verify(state, context) },
    },
  );
  server.setRequestHandler('tools/list', async () => {
    await host.opened;
    return { tools: listedTools(host.state(), era) };
  });
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const { name, arguments: args = {} } = params;
    const isTask = era === 'legacy' && params.task !== undefined;
    return answerToolCall({ ...options, server, context }, { name, args: args as JsonObject, isTask });
  });
  addTasks(server, options, era);
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
