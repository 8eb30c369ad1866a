// A model server whose turns a test writes into its prompts: the calls of each turn, as JSON. It answers what a prompt says at
// once, so that everything else is what is tested.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PromptedCall {
  readonly name: string;
  readonly arguments: object;
}

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

export interface PromptedModel {
  /** The base URL of its Chat Completions. */
  readonly url: string;
  /** What the model was offered last, by name. */
  readonly offered: () => readonly string[];
  /** Requests in which a call has no result, or two. */
  readonly unpaired: () => number;
  readonly close: () => Promise<void>;
}

/** A prompt that has the model make these calls, turn by turn. Every call has an id of its own: `key`, its turn and its place. */
export const promptOf = (key: string, turns: readonly (readonly PromptedCall[])[]): string =>
  JSON.stringify({ key, turns });

export async function openPromptedModel(): Promise<PromptedModel> {
  let offered: readonly string[] = [];
  let unpaired = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      const { messages, tools = [] } = JSON.parse(body) as {
        readonly messages: readonly Message[];
        readonly tools?: readonly { readonly function: { readonly name: string } }[];
      };
      offered = tools.map((tool) => tool.function.name);
      if (!isPaired(messages)) unpaired += 1;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices: [answerTo(messages)] }));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    offered: () => offered,
    unpaired: () => unpaired,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function answerTo(messages: readonly Message[]): object {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const { key, turns } = JSON.parse(String(messages[asked]?.content)) as {
    readonly key: string;
    readonly turns: readonly (readonly PromptedCall[])[];
  };
  const turn = messages.slice(asked).filter(({ role }) => role === 'assistant').length;
  const calls = turns[turn] ?? [];
  const tool_calls = calls.map(({ name, arguments: given }, index) => ({
    id: `${key}-${turn}-${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }));
  return calls.length === 0
    ? { index: 0, message: { role: 'assistant', content: 'done' }, finish_reason: 'stop' }
    : { index: 0, message: { role: 'assistant', tool_calls }, finish_reason: 'tool_calls' };
}

/** Whether every call has exactly one result, in order, before any other message. */
function isPaired(messages: readonly Message[]): boolean {
  let open: string[] = [];
  for (const { role, tool_calls = [], tool_call_id } of messages) {
    if (role === 'tool') {
      if (open.shift() !== tool_call_id) return false;
    } else {
      if (open.length > 0) return false;
      open = tool_calls.map(({ id }) => id);
    }
  }
  return open.length === 0;
}
