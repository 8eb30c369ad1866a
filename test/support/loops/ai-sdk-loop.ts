// A small imitation of the AI SDK, which no test needs installed: a loop that asks a language model of specification v3, runs
// the tools of an answer at the same time, and asks again with their results; and a model that answers from a script.
import type { AiSdkModel, AiSdkTools, ContentPart, ModelMessage } from '../../../embed/ai-sdk/index.ts';

export interface LoopCall {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

/** What a scripted model answers: a text, or calls; further parts go before them. */
export interface ScriptedAnswer {
  readonly text?: string;
  readonly calls?: readonly LoopCall[];
  readonly parts?: readonly ContentPart[];
}

type Prompt = readonly ModelMessage[];
interface Asked {
  readonly prompt: Prompt;
  readonly abortSignal?: AbortSignal;
}

/** The index of the turn is the number of answers in the prompt. `script` may throw. */
export type Script = (turn: number, asked: Asked) => ScriptedAnswer | Promise<ScriptedAnswer>;

/** A model of specification v3. */
export interface ScriptedModel extends AiSdkModel {
  readonly doGenerate: (asked: Asked) => Promise<{
    readonly content: readonly ContentPart[];
    readonly response: { readonly timestamp: Date };
  }>;
  readonly doStream: (asked: Asked) => Promise<{ readonly stream: ReadableStream<ContentPart> }>;
}

const usage = {
  inputTokens: { total: 7, noCache: 5, cacheRead: 2, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};

export function scriptedModel(script: Script): ScriptedModel {
  async function contentOf(asked: Asked): Promise<readonly ContentPart[]> {
    const turn = asked.prompt.filter(({ role }) => role === 'assistant').length + 1;
    const { text, calls = [], parts = [] } = await script(turn, asked);
    return [
      ...parts,
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ id, name, input }) => ({
        type: 'tool-call',
        toolCallId: id,
        toolName: name,
        input: JSON.stringify(input),
      })),
    ];
  }
  const reasonFor = (content: readonly ContentPart[]) =>
    content.some(({ type }) => type === 'tool-call')
      ? { unified: 'tool-calls', raw: 'tool_use' }
      : { unified: 'stop', raw: 'end_turn' };
  const response = { id: 'answer-1', timestamp: new Date(1_700_000_000_000), modelId: 'scripted-1' };

  return {
    specificationVersion: 'v3' as const,
    provider: 'scripted',
    modelId: 'scripted-1',
    supportedUrls: {},
    async doGenerate(asked) {
      const content = await contentOf(asked);
      return { content, finishReason: reasonFor(content), usage, warnings: [], response };
    },
    async doStream(asked) {
      const content = await contentOf(asked);
      const stream = new ReadableStream<ContentPart>({
        start(controller) {
          controller.enqueue({ type: 'stream-start', warnings: [] });
          controller.enqueue({ type: 'response-metadata', ...response });
          for (const [id, part] of content.entries()) {
            if (part.type !== 'text' && part.type !== 'reasoning') controller.enqueue(part);
            else {
              const { type, text, ...rest } = part;
              controller.enqueue({ type: `${type}-start`, id: String(id) });
              for (const delta of String(text).match(/.{1,4}/gsu) ?? []) {
                controller.enqueue({ type: `${type}-delta`, id: String(id), delta });
              }
              controller.enqueue({ type: `${type}-end`, id: String(id), ...rest });
            }
          }
          controller.enqueue({ type: 'finish', finishReason: reasonFor(content), usage });
          controller.close();
        },
      });
      return { stream };
    },
  };
}

export interface LoopOptions {
  readonly model: AiSdkModel;
  readonly tools: AiSdkTools;
  readonly system?: string;
  readonly prompt?: string;
  readonly messages?: readonly ModelMessage[];
  readonly stepsMax?: number;
  readonly abortSignal?: AbortSignal;
  /** As `streamText` does: reads streams, and runs a call as soon as it arrives. */
  readonly streams?: boolean;
  readonly retriesMax?: number;
}

export interface LoopAnswer {
  readonly text: string;
  readonly steps: readonly { readonly content: readonly ContentPart[]; readonly results: readonly ContentPart[] }[];
  readonly messages: readonly ModelMessage[];
  /** The deltas that were shown. */
  readonly shown: string;
}

export async function generate(options: LoopOptions): Promise<LoopAnswer> {
  const { model, tools, system, prompt = '', stepsMax = 20, abortSignal, streams = false, retriesMax = 0 } = options;
  const messages: ModelMessage[] = [
    ...(system === undefined ? [] : [{ role: 'system', content: system }]),
    ...(options.messages ?? [{ role: 'user', content: [{ type: 'text', text: prompt }] }]),
  ];
  const steps: LoopAnswer['steps'][number][] = [];
  let shown = '';
  for (let step = 0; step < stepsMax; step += 1) {
    const running: Promise<ContentPart>[] = [];
    const onPart = (part: ContentPart): void => {
      if (part.type === 'text-delta') shown += String(part['delta']);
      if (part.type === 'tool-call' && part['providerExecuted'] !== true) {
        const result = resultOf(tools, part, abortSignal);
        if (result !== null) running.push(result);
      }
    };
    const call = {
      prompt: [...messages],
      tools: Object.entries(tools).map(([name, tool]) => ({ type: 'function', name, ...(tool as object) })),
      ...(abortSignal === undefined ? {} : { abortSignal }),
    };
    const content = await retried(retriesMax, () =>
      streams ? streamed(model, call, onPart) : generated(model, call, onPart),
    );
    const results = await Promise.all(running);
    steps.push({ content, results });
    messages.push({ role: 'assistant', content: content.map(asPromptPart) });
    if (results.length > 0) messages.push({ role: 'tool', content: results });
    const calls = content.filter((part) => part.type === 'tool-call' && part['providerExecuted'] !== true);
    if (calls.length === 0 || results.length < calls.length) break;
    abortSignal?.throwIfAborted();
  }
  const last = steps.at(-1)?.content ?? [];
  const text = last.map((part) => (part.type === 'text' ? String(part['text']) : '')).join('');
  return { text, steps, messages, shown };
}

async function retried<A>(times: number, work: () => Promise<A>): Promise<A> {
  try {
    return await work();
  } catch (error) {
    if (times === 0 || (error as { isRetryable?: boolean }).isRetryable !== true) throw error;
    return await retried(times - 1, work);
  }
}

async function generated(model: AiSdkModel, call: object, onPart: (part: ContentPart) => void) {
  const { content } = (await model.doGenerate(call)) as { content: readonly ContentPart[] };
  content.forEach(onPart);
  return content;
}

async function streamed(model: AiSdkModel, call: object, onPart: (part: ContentPart) => void) {
  const { stream } = (await model.doStream(call)) as { stream: ReadableStream<ContentPart> };
  const content: Record<string, unknown>[] = [];
  const blocks = new Map<unknown, Record<string, unknown>>();
  for await (const part of stream) {
    onPart(part);
    const { type, id, delta, ...rest } = part;
    if (type === 'error') throw part['error'];
    if (/^(text|reasoning)-start$/.test(type)) {
      const block = { type: type.split('-')[0], text: '' };
      blocks.set(id, block);
      content.push(block);
    } else if (type.endsWith('-delta')) addText(blocks.get(id), String(delta));
    else if (type.endsWith('-end')) Object.assign(blocks.get(id) ?? {}, rest);
    else if (!['stream-start', 'response-metadata', 'finish'].includes(type)) content.push({ type, ...rest });
  }
  return content as unknown as readonly ContentPart[];
}

function addText(block: Record<string, unknown> | undefined, delta: string): void {
  if (block !== undefined) block['text'] = `${String(block['text'])}${delta}`;
}

/** Null for a tool without a function: the application brings the result. */
function resultOf(
  tools: AiSdkTools,
  call: ContentPart,
  abortSignal: AbortSignal | undefined,
): Promise<ContentPart> | null {
  const { toolCallId, toolName, input } = call;
  const result = { type: 'tool-result', toolCallId, toolName };
  const tool = tools[String(toolName)];
  if (tool === undefined) {
    return Promise.resolve({ ...result, output: { type: 'error-text', value: `no tool ${String(toolName)}` } });
  }
  if (tool.execute === undefined) return null;
  const { execute } = tool;
  return (async () => {
    try {
      const value = await execute(JSON.parse(String(input)), { toolCallId, abortSignal, messages: [] });
      return { ...result, output: typeof value === 'string' ? { type: 'text', value } : { type: 'json', value } };
    } catch (error) {
      return { ...result, output: { type: 'error-text', value: (error as Error).message } };
    }
  })();
}

function asPromptPart({ providerMetadata, ...part }: ContentPart): ContentPart {
  const input = part.type === 'tool-call' ? { input: JSON.parse(String(part['input'])) as unknown } : {};
  return {
    ...part,
    ...input,
    ...(providerMetadata === undefined ? {} : { providerOptions: providerMetadata }),
  };
}
