// A small imitation of OpenAI Agents JS, which no test needs installed: a loop that asks a model, interrupts its run for calls
// that need an approval, runs the others at the same time, and asks again with their results.
import type { AgentsItem, AgentsModel, AgentsResponse, AgentsTool } from '../../../embed/openai-agents/index.ts';

export interface AgentsCall {
  readonly id: string;
  readonly name: string;
  readonly args: object;
}

/** The index of the turn is the number of answers in the input. */
export type AgentsScript = (
  turn: number,
  input: string | readonly AgentsItem[],
) => { readonly text?: string; readonly calls?: readonly AgentsCall[] };

type Fields = Readonly<Record<string, unknown>>;

const usage = { requests: 1, inputTokens: 7, outputTokens: 3, totalTokens: 10 };

export function scriptedModel(script: AgentsScript): AgentsModel {
  function answerTo(input: string | readonly AgentsItem[]): AgentsResponse {
    const turn = (input as readonly Fields[]).filter(({ type }) => type === 'reasoning').length + 1;
    const { text, calls = [] } = script(turn, input);
    // Each answer has a part that only the framework reads.
    const output: AgentsItem[] = [{ type: 'reasoning', id: `rs_${turn}`, content: [], providerData: { sealed: turn } }];
    if (text !== undefined) {
      const content = [{ type: 'output_text', text, providerData: { annotations: [] } }];
      output.push({ type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed', content });
    }
    for (const { id, name, args } of calls) {
      output.push({ type: 'function_call', id: `fc_${id}`, callId: id, name, arguments: JSON.stringify(args) });
    }
    return { usage, output, responseId: `resp_${turn}` };
  }
  return {
    getResponse: ({ input }) => new Promise((resolve) => resolve(answerTo(input))),
    async *getStreamedResponse({ input }) {
      const { responseId, ...response } = await Promise.resolve(answerTo(input));
      yield { type: 'response_started' };
      for (const item of response.output as readonly Fields[]) {
        const [entry] = (item['role'] === 'assistant' ? item['content'] : []) as readonly { readonly text: string }[];
        for (const delta of entry?.text.match(/.{1,3}/gsu) ?? []) yield { type: 'output_text_delta', delta };
      }
      yield { type: 'response_done', response: { id: responseId, ...response } };
    },
  };
}

/** A function tool, as the framework makes it of a function. */
export function functionTool(
  name: string,
  run: (args: never) => unknown,
  needsApproval: (context: never, args: never) => Promise<boolean> = () => Promise.resolve(false),
): AgentsTool {
  return {
    type: 'function',
    name,
    description: `The tool ${name}.`,
    parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
    needsApproval,
    invoke: async (_context, input) => run(JSON.parse(input) as never),
  };
}

export interface AgentsRunOptions {
  readonly model: AgentsModel;
  readonly tools: readonly AgentsTool[];
  readonly prompt: string;
  readonly streams?: boolean;
}

export interface AgentsRunResult {
  readonly text: string;
  readonly history: readonly AgentsItem[];
  /** The ids of the calls that wait for an approval; then the run is not over. */
  readonly interruptions: readonly string[];
  /** The deltas that were shown. */
  readonly shown: string;
}

export async function runAgent({ model, tools, prompt, streams = false }: AgentsRunOptions): Promise<AgentsRunResult> {
  const history: Fields[] = [{ type: 'message', role: 'user', content: prompt }];
  let shown = '';
  for (;;) {
    const request = { input: history, tools, handoffs: [] };
    const stream = streams ? await readStream(model.getStreamedResponse(request)) : null;
    shown += stream?.shown ?? '';
    const { output } = stream?.response ?? (await model.getResponse(request));
    history.push(...(output as readonly Fields[]));
    const calls = (output as readonly Fields[]).filter(({ type }) => type === 'function_call');
    const results = await Promise.all(calls.map((call) => resultOf(call, tools)));
    history.push(...results.filter((result) => result !== null));
    const interruptions = calls.filter((_, index) => results[index] === null).map(({ callId }) => String(callId));
    if (interruptions.length > 0 || calls.length === 0) {
      const entries = (output as readonly Fields[]).flatMap(({ role, content }) =>
        role === 'assistant' ? content : [],
      );
      const text = (entries as readonly { readonly text: string }[]).map((entry) => entry.text).join('');
      return { text, history, interruptions, shown };
    }
  }
}

async function readStream(events: AsyncIterable<object>) {
  let shown = '';
  let response: AgentsResponse | null = null;
  for await (const event of events as AsyncIterable<Fields>) {
    if (event['type'] === 'output_text_delta') shown += String(event['delta']);
    if (event['type'] === 'response_done') response = event['response'] as AgentsResponse;
  }
  if (response === null) throw new Error('the stream has no answer');
  return { response, shown };
}

/** Null for a call that waits for an approval. */
async function resultOf(
  { callId, name, arguments: written }: Fields,
  tools: readonly AgentsTool[],
): Promise<Fields | null> {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${String(name)}`);
  const args = JSON.parse(String(written)) as never;
  if (await tool.needsApproval({} as never, args, String(callId))) return null;
  const output = await tool.invoke({} as never, String(written), { toolCall: { callId: String(callId) } });
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return { type: 'function_call_result', callId, name, status: 'completed', output: { type: 'text', text } };
}
