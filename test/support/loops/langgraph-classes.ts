// Classes like those of LangChain: methods on several prototypes, each of which asks the model, or runs the tool, in its own way.
import type { GraphAnswer } from '../../../embed/langgraph/index.ts';

interface ChunkCall {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

export class Chunk {
  readonly type = 'ai';
  readonly content: string;
  readonly tool_call_chunks: readonly ChunkCall[];
  readonly tool_calls: readonly { readonly id: string; readonly name: string; readonly args: object }[];

  constructor(content: string, calls: readonly ChunkCall[] = []) {
    this.content = content;
    this.tool_call_chunks = calls;
    this.tool_calls = calls.map(({ id, name, args }) => ({
      type: 'tool_call',
      id,
      name,
      args: JSON.parse(args) as object,
    }));
  }

  concat({ content, tool_call_chunks }: Chunk): Chunk {
    return new Chunk(this.content + content, [...this.tool_call_chunks, ...tool_call_chunks]);
  }
}

interface Scripted {
  readonly content?: string;
  readonly calls?: readonly ChunkCall[];
  /** The stream fails before its chunk of this index. */
  readonly failsAt?: number;
}

class Runnable {
  invoke(input: unknown): Promise<GraphAnswer> {
    return Promise.resolve(input as GraphAnswer);
  }

  async batch(inputs: readonly unknown[]): Promise<readonly unknown[]> {
    return await Promise.all(inputs.map((input) => this.invoke(input)));
  }

  getName(): string {
    return 'name';
  }

  async *transform(input: AsyncIterable<unknown>): AsyncGenerator<object> {
    for await (const one of input) yield await this.invoke(one);
  }
}

export class ChatModel extends Runnable {
  readonly prompts: unknown[] = [];
  readonly script: (turn: number, ask: number) => Scripted;
  /** A field, not a method. */
  readonly ofALaterVersion = (): Chunk => this.answer([]);

  constructor(script: (turn: number, ask: number) => Scripted) {
    super();
    this.script = script;
  }

  get asked(): number {
    return this.prompts.length;
  }

  scripted(prompt: unknown): Scripted {
    this.prompts.push(prompt);
    const answers = Array.isArray(prompt) ? prompt.filter((one) => one instanceof Chunk) : [];
    return this.script(answers.length + 1, this.prompts.length);
  }

  answer(prompt: unknown): Chunk {
    const { content = '', calls } = this.scripted(prompt);
    return new Chunk(content, calls);
  }

  override invoke(input: unknown): Promise<GraphAnswer> {
    return Promise.resolve(this.answer(input));
  }

  generate(): unknown {
    return this.answer([]);
  }

  generatePrompt(): unknown {
    return this.answer([]);
  }

  async *_streamResponseChunks(input: unknown): AsyncGenerator<Chunk> {
    const { content = '', calls = [], failsAt } = this.scripted(input);
    const words = content.split(/(?<= )/).filter((word) => word !== '');
    for (const [index, word] of words.entries()) {
      if (index === failsAt) throw new Error('no connection');
      yield await Promise.resolve(new Chunk(word));
    }
    for (const call of calls) yield new Chunk('', [call]);
  }

  _streamIterator(input: unknown): AsyncGenerator<Chunk> {
    return this._streamResponseChunks(input);
  }

  stream(input: unknown): Promise<AsyncIterable<Chunk>> {
    return Promise.resolve(this._streamIterator(input));
  }

  streamEvents(input: unknown): AsyncGenerator<Chunk> {
    return this._streamIterator(input);
  }

  bindTools(): this {
    return this;
  }

  withConfig(): Binding {
    return new Binding(this);
  }
}

/** A model with settings: it asks the one that it holds. */
class Binding extends Runnable {
  readonly bound: ChatModel;

  constructor(bound: ChatModel) {
    super();
    this.bound = bound;
  }

  override invoke(input: unknown): Promise<GraphAnswer> {
    return this.bound.invoke(input);
  }

  override batch(inputs: readonly unknown[]): Promise<readonly unknown[]> {
    return this.bound.batch(inputs);
  }
}

export class Tool extends Runnable {
  ran = 0;
  readonly name = 'refund';
  readonly description = 'Refunds an order.';
  /** Some libraries of schemas make functions. */
  readonly schema = Object.assign(() => undefined, {
    type: 'object',
    properties: { order: { type: 'string' } },
  });
  readonly func = (): number => (this.ran += 1);

  override invoke(call: unknown): Promise<GraphAnswer> {
    this.ran += 1;
    const { id } = call as { readonly id: string };
    return Promise.resolve({ content: 'refunded', tool_call_id: id } as GraphAnswer);
  }

  call(): number {
    return this.func();
  }
}
