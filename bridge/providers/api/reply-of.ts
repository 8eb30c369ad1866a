// Puts a reply together without the fields that an answer does not have. They are set one by one: to spread optional fields into
// an object takes longer than to parse the answer of a short turn.
import type { Stop } from '../../../schemas/model-turn.ts';
import type { Usage } from '../../../schemas/run.ts';
import type { GenerateReply, ReplyCall, ReplyLayout } from '../provider.ts';

interface Said {
  /** Empty when there is none. */
  readonly content: string;
  readonly calls: readonly ReplyCall[];
  readonly usage: Usage | null;
  readonly stop: Stop | null;
  readonly layout: ReplyLayout | null;
}

export function replyOf({ content, calls, usage, stop, layout }: Said): GenerateReply {
  const reply: Writable<GenerateReply> = content === '' ? { calls } : { content, calls };
  if (usage !== null) reply.usage = usage;
  if (stop !== null) reply.stop = stop;
  if (layout !== null) reply.layout = layout;
  return reply;
}

/** Numbers of tokens; zero where the API counts none. */
interface Counts {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

export function usageOf({ input, output, cached, cacheWrite, reasoning }: Counts): Usage {
  const usage: Writable<Usage> = { input_tokens: input, output_tokens: output };
  if (cached > 0) usage.cached_tokens = cached;
  if (cacheWrite > 0) usage.cache_write_tokens = cacheWrite;
  if (reasoning > 0) usage.reasoning_tokens = reasoning;
  return usage;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
