// A model server that makes calls by itself: what a run is asked decides them, and every call has an id of its own in
// the whole world, so that whatever happens twice shows. It also checks that no request holds a call without a result.
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: object;
}

export interface CrashModel {
  /** Base URL of its Chat Completions. */
  readonly url: string;
  /** Requests in which calls and results did not match. */
  readonly unpaired: string[];
  /** Answers wait while this holds. */
  hold(): void;
  /** How many answers wait. */
  held(): number;
  release(): void;
  close(): Promise<void>;
}

/** The variable by which a command of the world is known. */
export const MARK_VARIABLE = 'REFOLD_CRASH_WORLD';

const TURNS = 2;

/**
 * The calls of one turn of a run: a command that leaves a mark, for a while, with a child that would not end by itself,
 * and one call beside it.
 */
function callsOf(run: string, turn: number, { world, seconds }: CrashModelOptions): readonly Call[] {
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

interface CrashModelOptions {
  /** What the commands of this world are known by. */
  readonly world: string;
  /** How long every second command takes. */
  readonly seconds: number;
}

export async function openCrashModel(options: CrashModelOptions): Promise<CrashModel> {
  const unpaired: string[] = [];
  let waiting: (() => void)[] | null = null;
  const answer = (response: ServerResponse, messages: readonly Message[]): void => {
    const asked = messages.findLastIndex(({ role }) => role === 'user');
    const run = String(messages[asked]?.content);
    const turn = messages.slice(asked).filter(({ role }) => role === 'assistant').length + 1;
    const calls = turn > TURNS ? [] : callsOf(run, turn, options);
    reply(response, calls);
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

/** Every call of every turn has exactly one result, in order, before anything else is said. */
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
