// What every API asks of a conversation: a user's message first, alternation where it is asked for, each call answered once,
// directly after it, in order, ids that occur once and fit, nothing empty.
import type { ModelApi } from '../../../schemas/model-turn.ts';

interface Link {
  readonly kind: 'call' | 'result';
  readonly id: string;
  readonly name: string | null;
}

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | Link
  /** Thinking, images, tools of the provider. */
  | { readonly kind: 'other' };

interface Turn {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly parts: readonly Part[];
}

// Bodies are read as they are: a wrong form shows as a broken law or a TypeError.
type Any = any; // oxlint-disable-line typescript/no-explicit-any

interface Rules {
  readonly turns: (body: Any) => readonly Turn[];
  /** Two messages of a role may not follow one another. */
  readonly alternates: boolean;
  /** The last message is the user's, or results. */
  readonly endsWithUser: boolean;
  /** Blank texts are refused. */
  readonly refusesBlank: boolean;
  readonly id: RegExp;
}

const RULES: { readonly [api in ModelApi]: Rules } = {
  'openai.chat': {
    turns: chatTurns,
    alternates: false,
    endsWithUser: false,
    refusesBlank: false,
    id: /^.{1,64}$/s,
  },
  'openai.responses': {
    turns: responsesTurns,
    alternates: false,
    endsWithUser: false,
    refusesBlank: false,
    id: /^.{1,64}$/s,
  },
  'anthropic.messages': {
    turns: anthropicTurns,
    alternates: true,
    endsWithUser: false,
    refusesBlank: true,
    id: /^[A-Za-z0-9_-]{1,64}$/,
  },
  'gemini.generate_content': {
    turns: geminiTurns,
    alternates: true,
    endsWithUser: false,
    refusesBlank: false,
    id: /^.+$/s,
  },
  'bedrock.converse': {
    turns: bedrockTurns,
    alternates: true,
    endsWithUser: true,
    refusesBlank: true,
    id: /^[A-Za-z0-9_.:-]{1,64}$/,
  },
};

/** The laws that the body of a request breaks; empty when it breaks none. `body` is its text. */
export function checkChat(api: ModelApi, body: string): readonly string[] {
  const rules = RULES[api];
  const value = JSON.parse(body);
  const turns = rules.turns(value);
  return [
    ...brokenOrder(turns, rules),
    ...brokenParts(turns, rules),
    ...brokenCalls(turns, rules.id),
    ...brokenTools(api, value),
  ];
}

function brokenOrder(turns: readonly Turn[], { alternates, endsWithUser }: Rules): readonly string[] {
  const broken: string[] = [];
  if (turns[0]?.role !== 'user') broken.push(`the first message is of the role ${turns[0]?.role ?? 'none'}`);
  if (endsWithUser && turns.at(-1)?.role === 'assistant') broken.push("the last message is the model's");
  for (const [index, { role }] of turns.entries()) {
    if (alternates && role === turns[index + 1]?.role) broken.push(`messages ${index} and ${index + 1}: both ${role}`);
  }
  return broken;
}

function brokenParts(turns: readonly Turn[], { refusesBlank }: Rules): readonly string[] {
  return turns.flatMap(({ parts }, index) => {
    const blank = parts.some((part) => part.kind === 'text' && (refusesBlank ? part.text.trim() : part.text) === '');
    const late = parts.some((part, at) => part.kind === 'result' && at > 0 && parts[at - 1]?.kind !== 'result');
    return [
      ...(parts.length === 0 ? [`message ${index} is empty`] : []),
      ...(blank ? [`message ${index} has a blank text`] : []),
      ...(late ? [`message ${index} has a result after something else`] : []),
    ];
  });
}

const partsOf = (turn: Turn | undefined, kind: Link['kind']): readonly Link[] =>
  (turn?.parts ?? []).filter((part): part is Link => part.kind === kind);

/** The results of a turn must be those of the calls of the turn before, in their order. */
function brokenCalls(turns: readonly Turn[], rule: RegExp): readonly string[] {
  const broken: string[] = [];
  const seen = new Set<string>();
  for (const [index, turn] of turns.entries()) {
    for (const { id } of partsOf(turn, 'call')) {
      if (seen.has(id)) broken.push(`the id ${id} occurs twice`);
      if (!rule.test(id)) broken.push(`the id ${JSON.stringify(id)} does not fit`);
      seen.add(id);
    }
    const asked = turn.role === 'assistant' ? partsOf(turn, 'call') : [];
    const given = partsOf(turns[index + 1], 'result');
    const shown = (parts: readonly Link[]): string => parts.map(({ id }) => id).join(' ');
    if (shown(asked) !== shown(given)) {
      broken.push(`message ${index} calls [${shown(asked)}], and the next one answers [${shown(given)}]`);
    }
    for (const [at, { name }] of asked.entries()) {
      const answered = given[at]?.name ?? null;
      if (answered !== null && answered !== name) broken.push(`message ${index}: ${name} is answered by ${answered}`);
    }
  }
  if (partsOf(turns[0], 'result').length > 0) broken.push('the first message has results');
  return broken;
}

/** Converse refuses calls without a `toolConfig`. */
function brokenTools(api: ModelApi, body: Any): readonly string[] {
  const called = api === 'bedrock.converse' && bedrockTurns(body).some((turn) => partsOf(turn, 'call').length > 0);
  return called && !(body.toolConfig?.tools?.length > 0) ? ['there are calls, but no toolConfig'] : [];
}

const OTHER: Part = { kind: 'other' };
const text = (value: string): Part => ({ kind: 'text', text: value });
const call = (id: string, name: string): Part => ({ kind: 'call', id, name });
const result = (id: string, name: string | null = null): Part => ({ kind: 'result', id, name });

/** Messages and items of a role that follow one another are one turn. */
function joined(turns: readonly Turn[]): readonly Turn[] {
  const all: Turn[] = [];
  for (const { role, parts } of turns) {
    const last = all.at(-1);
    if (last?.role === role) all[all.length - 1] = { role, parts: [...last.parts, ...parts] };
    else all.push({ role, parts });
  }
  return all;
}

function bedrockTurns({ messages }: Any): readonly Turn[] {
  const part = (block: Any): Part => {
    if (typeof block.text === 'string') return text(block.text);
    if (block.toolResult?.toolUseId !== undefined && block.toolResult.type === undefined) {
      return block.toolResult.content.length === 0 ? text('') : result(block.toolResult.toolUseId);
    }
    if (block.toolUse === undefined || block.toolUse.type === 'server_tool_use') return OTHER;
    return call(block.toolUse.toolUseId, block.toolUse.name);
  };
  return messages.map(({ role, content }: Any): Turn => ({ role, parts: content.map(part) }));
}

function anthropicTurns({ messages }: Any): readonly Turn[] {
  const part = (block: Any): Part => {
    if (block.type === 'text') return text(block.text);
    if (block.type === 'tool_result') return result(block.tool_use_id);
    return block.type === 'tool_use' ? call(block.id, block.name) : OTHER;
  };
  return messages.map(({ role, content }: Any): Turn => ({
    role,
    parts: typeof content === 'string' ? [text(content)] : content.map(part),
  }));
}

/** Calls without an id are known by their place. */
function geminiTurns({ contents }: Any): readonly Turn[] {
  return contents.map(({ role, parts }: Any, turn: number): Turn => {
    let calls = 0;
    let results = 0;
    const part = (each: Any): Part => {
      if (each.functionCall !== undefined) {
        return call(each.functionCall.id ?? `${turn + 1}.${calls++}`, each.functionCall.name);
      }
      if (each.functionResponse !== undefined) {
        return result(each.functionResponse.id ?? `${turn}.${results++}`, each.functionResponse.name);
      }
      return typeof each.text === 'string' && each.thought !== true && each.thoughtSignature === undefined
        ? text(each.text)
        : OTHER;
    };
    return { role: role === 'model' ? 'assistant' : 'user', parts: parts.map(part) };
  });
}

function chatTurns({ messages }: Any): readonly Turn[] {
  const contentParts = (content: Any): readonly Part[] => {
    if (content === null || content === undefined) return [];
    if (typeof content === 'string') return [text(content)];
    return content.map((each: Any) => (each.type === 'text' ? text(each.text) : OTHER));
  };
  const turn = ({ role, content, tool_calls = [], tool_call_id, ...further }: Any): Turn => {
    if (role === 'tool') return { role, parts: [result(tool_call_id)] };
    const calls = tool_calls.map(({ id, function: { name } }: Any) => call(id, name));
    const items = Object.keys(further).length > 0 ? [OTHER] : [];
    return { role, parts: [...contentParts(content), ...calls, ...items] };
  };
  return toolsJoined(messages.filter(({ role }: Any) => role !== 'system' && role !== 'developer').map(turn));
}

/** Each result is a message of its own. */
const toolsJoined = (turns: readonly Turn[]): readonly Turn[] => {
  const all: Turn[] = [];
  for (const turn of turns) {
    const last = all.at(-1);
    if (turn.role === 'tool' && last?.role === 'tool') {
      all[all.length - 1] = { role: 'tool', parts: [...last.parts, ...turn.parts] };
    } else all.push(turn);
  }
  return all;
};

/** Items, not messages: everything that the model wrote, up to the next result or message of the user, is one turn. */
function responsesTurns({ input }: Any): readonly Turn[] {
  const turn = (item: Any): Turn => {
    if (item.type === 'function_call') return { role: 'assistant', parts: [call(item.call_id, item.name)] };
    if (item.type === 'function_call_output') return { role: 'tool', parts: [result(item.call_id)] };
    if (item.type !== undefined && item.type !== 'message') return { role: 'assistant', parts: [OTHER] };
    const content = typeof item.content === 'string' ? [{ text: item.content }] : item.content;
    const parts = content.map((each: Any) => (typeof each.text === 'string' ? text(each.text) : OTHER));
    return { role: item.role === 'assistant' ? 'assistant' : 'user', parts };
  };
  return joined(input.filter(({ role }: Any) => role !== 'system' && role !== 'developer').map(turn));
}
