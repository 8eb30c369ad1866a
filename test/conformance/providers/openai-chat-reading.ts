// A second reader of completions: it trusts what it reads, and shares nothing with the first.

// oxlint-disable-next-line typescript/no-explicit-any
export type Any = any;

const STOPS: Readonly<Record<string, string>> = {
  stop: 'end',
  eos: 'end',
  tool_calls: 'calls',
  function_call: 'calls',
  length: 'length',
  content_filter: 'filtered',
};

const choiceIn = ({ choices }: Any): Any => [...choices].sort((a: Any, b: Any) => (a.index ?? 0) - (b.index ?? 0))[0];

const callsIn = ({ tool_calls, function_call }: Any): readonly Any[] => [
  ...(tool_calls ?? []),
  ...(function_call?.name ? [{ function: function_call }] : []),
];

/** Text, calls, reason to stop and usage. */
export function plainReading(final: Any): unknown {
  const { message, finish_reason } = choiceIn(final);
  const written = Array.isArray(message.content)
    ? message.content.map((part: Any) => (part.type === 'text' ? part.text : '')).join('')
    : (message.content ?? '');
  const calls = callsIn(message).map((call) => {
    const body = call.function ?? call.custom;
    return [call.id ?? '', body.name, body.arguments || body.input || '{}'];
  });
  const refused = written === '' && message.refusal ? 'refusal' : null;
  const stop = finish_reason ? (STOPS[finish_reason] ?? 'other') : null;
  return {
    text: written || message.refusal || '',
    calls,
    stop: stop === 'end' && calls.length > 0 ? 'calls' : stop === 'end' ? (refused ?? 'end') : stop,
    usage: plainUsage(final.usage ?? final.x_groq?.usage),
  };
}

function plainUsage(usage: Any): unknown {
  if (!usage) return null;
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  const details = {
    cached_tokens:
      usage.prompt_tokens_details?.cached_tokens ||
      usage.prompt_cache_hit_tokens ||
      usage.cached_tokens ||
      usage.num_cached_tokens ||
      usage.cache_read_input_tokens,
    cache_write_tokens: usage.prompt_tokens_details?.cache_write_tokens || usage.cache_creation_input_tokens,
    reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens || usage.reasoning_tokens,
  };
  const known = Object.entries(details).filter(([, count]) => count > 0);
  return {
    input_tokens: input,
    output_tokens: total > input + output ? total - input : output,
    ...Object.fromEntries(known),
  };
}

const says = (value: Any): boolean =>
  value !== undefined &&
  value !== null &&
  value !== '' &&
  (typeof value !== 'object' || Object.values(value).some((each) => each !== 0 && says(each)));

const without = (fields: Any, ...names: readonly string[]): Any =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => !names.includes(name) && says(value)));

/**
 * The message as it must go back: as it came, but without blank fields, indexes and ids of tokens. Calls have an id, a kind and
 * arguments in an object; of an audio answer the id stays; the older `function_call` is a call like the others.
 */
export function sendable(final: Any): unknown {
  const { message } = choiceIn(final);
  const calls = callsIn(message).map((call, index) => sentCall(call, index));
  const parts = Array.isArray(message.content)
    ? message.content.filter((part: Any) => part.text !== '')
    : message.content;
  const audio = message.audio?.id ? { audio: { id: message.audio.id } } : {};
  const rest = without(message, 'role', 'content', 'tool_calls', 'function_call', 'audio', 'token_id');
  if (calls.length === 0 && !says(parts) && Object.keys({ ...rest, ...audio }).length === 0) return null;
  return {
    role: 'assistant',
    content: says(parts) ? parts : null,
    ...rest,
    ...audio,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function sentCall({ id, type, function: body, custom, ...rest }: Any, index: number): Any {
  const further = { id: id || `call-1-${index}`, type: type || 'function', ...without(rest, 'index') };
  if (!body) return { ...further, custom };
  const fields = { ...without(body, 'name', 'arguments'), name: body.name, arguments: body.arguments || '{}' };
  return { ...further, ...without({ custom }), function: fields };
}

/** The completion that the chunks of a stream add up to; null without an end. */
export function plainFinal(text: string): Any {
  const datas = text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trim());
  const chunks = datas.filter((data) => data !== '' && data !== '[DONE]').map((data) => JSON.parse(data));
  const message: Any = { role: 'assistant' };
  const final: Any = { choices: [{ index: 0, message, finish_reason: null }] };
  for (const chunk of chunks) {
    final.model = chunk.model || final.model;
    final.usage = chunk.usage ?? chunk.x_groq?.usage ?? final.usage;
    for (const { index, delta, finish_reason } of chunk.choices) {
      if ((index ?? 0) !== 0) continue;
      if (finish_reason) final.choices[0].finish_reason = finish_reason;
      if (delta) addTo(message, delta);
    }
  }
  return datas.includes('[DONE]') || final.choices[0].finish_reason ? final : null;
}

function addTo(message: Any, delta: Any): void {
  for (const [name, value] of Object.entries(delta) as readonly [string, Any][]) {
    if (value === null || value === '' || name === 'role') continue;
    if (name === 'tool_calls') for (const call of value) addCall((message.tool_calls ??= []), call);
    else if (name === 'reasoning_details') for (const one of value) addDetail((message[name] ??= []), one);
    else if (name === 'content') message.content = joined(message.content, value);
    else if (/^(reasoning|reasoning_content|refusal)$/.test(name)) message[name] = (message[name] ?? '') + value;
    else if (name === 'annotations') message[name] = [...(message[name] ?? []), ...value];
    else message[name] = value;
  }
}

/** Parts once there are parts; texts and thoughts that follow one another are one. */
function joined(known: Any, value: Any): Any {
  if (known === undefined) known = typeof value === 'string' ? '' : [];
  if (typeof known === 'string' && typeof value === 'string') return known + value;
  const list = typeof known === 'string' ? (known === '' ? [] : [{ type: 'text', text: known }]) : known;
  for (const part of typeof value === 'string' ? [{ type: 'text', text: value }] : value) {
    const last = list.at(-1);
    if (last?.type !== part.type) list.push(structuredClone(part));
    else if (part.type === 'text') last.text += part.text;
    else {
      last.thinking[0].text += part.thinking.map((each: Any) => each.text).join('');
      if (part.closed !== undefined) last.closed = part.closed;
    }
  }
  return list;
}

function addCall(calls: Any[], { index, id, type, function: body, ...rest }: Any): void {
  const known = calls.find((call) => call.index === index && (!id || call.id === id));
  if (!known) {
    calls.push({
      index,
      ...(id ? { id } : {}),
      ...(type ? { type } : {}),
      ...rest,
      function: { arguments: '', ...body },
    });
    return;
  }
  known.function.arguments = (known.function.arguments ?? '') + (body?.arguments ?? '');
  Object.assign(known, rest);
}

function addDetail(details: Any[], one: Any): void {
  const known = details.find((detail) => detail.index === one.index && detail.type === one.type);
  if (!known) details.push({ ...one });
  else {
    for (const [name, value] of Object.entries(one) as readonly [string, Any][]) {
      if (['text', 'summary', 'data'].includes(name)) known[name] = (known[name] ?? '') + value;
      else if (value !== null) known[name] = value;
    }
  }
}

/** The completion as chunks: head, content and calls in halves, the reason to stop, usage. The last one alone has no end marker. */
export function chunksOf(final: Any): readonly Any[] {
  const { message, finish_reason } = choiceIn(final);
  const { content, tool_calls, function_call, refusal, ...rest } = message;
  const chunk = (delta: Any, finish: Any = null): Any => ({
    id: final.id,
    model: final.model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const halves = (text: string): readonly string[] => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];
  const texts = typeof content === 'string' ? halves(content) : [content ?? null];
  const calls = (tool_calls ?? []).flatMap(({ function: body, ...call }: Any, index: number) => {
    const [start, end] = halves(body?.arguments ?? '');
    const first = { ...call, index, ...(body ? { function: { ...body, arguments: start } } : {}) };
    return [first, ...(body ? [{ index, function: { arguments: end } }] : [])];
  });
  const single = function_call?.name ? [chunk({ function_call })] : [];
  const last = chunk({}, finish_reason || null);
  return [
    chunk({ role: 'assistant', content: '' }),
    chunk(rest),
    ...texts.map((part) => chunk({ content: part })),
    ...(refusal ? halves(refusal).map((part) => chunk({ refusal: part })) : []),
    ...calls.map((call: Any) => chunk({ tool_calls: [call] })),
    ...single,
    ...(final.usage ? [{ model: final.model, choices: [], usage: final.usage }] : []),
    ...(final.x_groq && !final.usage ? [{ model: final.model, choices: [], x_groq: final.x_groq }] : []),
    last,
  ];
}
