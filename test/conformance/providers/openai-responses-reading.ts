// The second reader of responses: as plain as can be, with JSON.parse and nothing of the dialect.

/** A response, an item or a part of one, as far as the reader looks. */
export interface Raw {
  readonly type?: string;
  readonly role?: string;
  readonly status?: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly input?: string;
  readonly call_id?: string;
  readonly execution?: string;
  readonly encrypted_content?: string | null;
  readonly incomplete_details?: { readonly reason?: string } | null;
  readonly output?: readonly Raw[];
  readonly content?: readonly Raw[] | string;
  readonly usage?: RawUsage | null;
}

interface RawUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly input_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number };
  readonly output_tokens_details?: { readonly reasoning_tokens?: number };
}

/** What a turn says. */
export interface Reading {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly stop: string;
  readonly usage: readonly number[] | null;
}

const contentOf = ({ content }: Raw): readonly Raw[] => (typeof content === 'object' ? content : []);

export function plainReading(response: Raw): Reading {
  const output = response.output ?? [];
  let text = '';
  for (const item of output) {
    if (item.type !== 'message') continue;
    for (const part of contentOf(item)) text += part.text ?? part.refusal ?? '';
  }
  const calls = output
    .filter(({ type }) => type === 'function_call' || type === 'custom_tool_call')
    .map(({ type, call_id = '', name = '', arguments: written = '', input }) => {
      return { id: call_id, name, arguments: type === 'custom_tool_call' ? JSON.stringify({ input }) : written };
    });
  return { text, calls, stop: plainStop(response, calls.length), usage: plainUsage(response.usage) };
}

function plainStop(response: Raw, calls: number): string {
  const reason = response.incomplete_details?.reason;
  if (reason === 'max_output_tokens') return 'length';
  if (reason === 'content_filter') return 'filtered';
  if (reason !== undefined) return 'other';
  if (calls > 0) return 'calls';
  const refused = (response.output ?? []).some((item) => contentOf(item).some(({ type }) => type === 'refusal'));
  return refused ? 'refusal' : 'end';
}

function plainUsage(usage: RawUsage | null | undefined): readonly number[] | null {
  if (usage === null || usage === undefined) return null;
  return [
    usage.input_tokens,
    usage.output_tokens,
    usage.input_tokens_details?.cached_tokens ?? 0,
    usage.input_tokens_details?.cache_write_tokens ?? 0,
    usage.output_tokens_details?.reasoning_tokens ?? 0,
  ];
}

/**
 * The items that go back: the recorded ones, without what the dialect's README says is left out (reasoning that has none of
 * its own or that nothing follows, the ids after it, empty messages, calls that wait for the client).
 */
export function sentBack(response: Raw): readonly unknown[] {
  let lost = false;
  const sent: { item: unknown; reasoning: boolean }[] = [];
  for (const item of response.output ?? []) {
    if (item.type === 'reasoning') {
      const has = (item.encrypted_content ?? '') !== '' || contentOf(item).some(({ text }) => (text ?? '') !== '');
      if (has) sent.push({ item, reasoning: true });
      else lost = true;
    } else if (item.type === 'message') {
      const says = contentOf(item).some((part) => (part.text ?? part.refusal) !== '');
      if (says) sent.push({ item: withoutId(item, lost), reasoning: false });
    } else if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      const call = item.arguments === '' ? { ...item, arguments: '{}' } : item;
      sent.push({ item: withoutId(call, lost), reasoning: false });
    } else if (!waitsForClient(item, response)) sent.push({ item, reasoning: false });
  }
  while (sent.at(-1)?.reasoning === true) sent.pop();
  return sent.map(({ item }) => item);
}

function waitsForClient({ type = '', execution, call_id }: Raw, { output = [] }: Raw): boolean {
  const waiting = /^(?:computer|local_shell|shell|apply_patch|tool_search)_call$/.test(type);
  if (!waiting || (type === 'tool_search_call' && execution !== 'client')) return false;
  return !output.some((other) => (other.type ?? '').endsWith('_output') && other.call_id === call_id);
}

function withoutId(item: Raw & { readonly id?: string }, lost: boolean): unknown {
  const { id, ...rest } = item;
  return lost || id === undefined ? rest : item;
}

/** The response of a stream, from the event that ends it: without a parser of events, by its lines. */
export function plainFinal(stream: string): Raw {
  const end = stream
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:') && line.includes('{'))
    .map((line) => JSON.parse(line.slice(5)) as { readonly type?: string; readonly response?: Raw })
    .find(({ type }) => /^response\.(?:completed|incomplete|failed)$/.test(type ?? ''));
  return end?.response ?? {};
}
