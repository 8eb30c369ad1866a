// A model server whose calls depend only on the prompt. Every call has a globally unique id, so a call that runs twice is
// detected. The server also checks that no request contains a call without a result.
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: object;
}

/** The calls of one turn of a run, from 1; none ends the run. */
export type CallsOf = (run: string, turn: number) => readonly Call[];

export interface CrashModel {
  /** Base URL of its Chat Completions. */
  readonly url: string;
  /** Requests in which calls and results did not match. */
  readonly unpaired: string[];
  /** Delays answers until `release`. */
  hold(): void;
  /** The number of delayed answers. */
  held(): number;
  release(): void;
  close(): Promise<void>;
}

/** The environment variable that identifies the commands of one world. */
export const MARK_VARIABLE = 'REFOLD_CRASH_WORLD';

const TURNS = 2;

interface MarkOptions {
  /** The value that identifies the commands of this world. */
  readonly world: string;
  /** How long every second command runs. */
  readonly seconds: number;
}

/** In each turn a command that leaves a mark and starts a child that never exits, and one other call. */
export function markCalls(run: string, turn: number, { world, seconds }: MarkOptions): readonly Call[] {
  if (turn > TURNS) return [];
  const id = `${run}-${turn}`;
  const slow = (run.length + turn) % 2 === 0;
  const script = `sleep 1000 & echo "$0" >> marks.txt${slow ? `; sleep ${seconds}` : ''}`;
  const shell = { argv: ['sh', '-c', script, `${id}-mark`], env: { [MARK_VARIABLE]: world } };
  const beside =
    turn === 1
      ? { id: `${id}-read`, name: 'exists', arguments: { path: 'marks.txt' } }
      : { id: `${id}-write`, name: 'write_file', arguments: { path: `${run}.txt`, text: id } };
  return [{ id: `${id}-mark`, name: 'shell', arguments: shell }, beside];
}

export async function openCrashModel(callsOf: CallsOf): Promise<CrashModel> {
  const unpaired: string[] = [];
  let waiting: (() => void)[] | null = null;
  const answer = (response: ServerResponse, messages: readonly Message[]): void => {
    const asked = messages.findLastIndex(({ role }) => role === 'user');
    const run = String(messages[asked]?.content);
    const turn = messages.slice(asked).filter(({ role }) => role === 'assistant').length + 1;
    reply(response, callsOf(run, turn));
  };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      const { messages } = JSON.parse(body) as { readonly messages: readonly Message[] };
      if (!isPaired(messages)) unpaired.push(body);
      if (waiting === null) answer(response, messages);
      else waiting.push(() => answer(response, messages));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    unpaired,
    hold() {
      waiting ??= [];
    },
    held: () => waiting?.length ?? 0,
    release() {
      const held = waiting ?? [];
      waiting = null;
      for (const go of held) go();
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function reply(response: ServerResponse, calls: readonly Call[]): void {
  const tool_calls = calls.map(({ id, name, arguments: given }) => {
    return { id, type: 'function', function: { name, arguments: JSON.stringify(given) } };
  });
  const message = calls.length === 0 ? { role: 'assistant', content: 'done' } : { role: 'assistant', tool_calls };
  const finish_reason = calls.length === 0 ? 'stop' : 'tool_calls';
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason }] }));
}

/** Whether every call of every turn has exactly one result, in order, before any other message. */
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
