// What the provider's own tools did in a turn of the model: calls (`server_tool_use`) and their results, which the layout keeps
// as items. They go back in their place, but Converse refuses a call without its result, and a result without its call: a
// turn that was cut may hold one.
import {
  type ExactJson,
  type ExactObject,
  RawJson,
  isExactObject,
  objectIn,
  parseExact,
  textIn,
} from '../api/exact-json.ts';

/** A block of a turn of the model, as a call or a result of the provider's own tool; null for any other block. */
export interface ServerBlock {
  readonly kind: 'call' | 'result';
  readonly id: string;
  /** The name of the tool; empty for a result. */
  readonly name: string;
}

/** The blocks of one turn of the model without calls of its server that have no result after them, and the reverse. */
export function withoutHalfWork(blocks: readonly ExactJson[]): readonly ExactJson[] {
  const kinds = blocks.map(serverBlock);
  if (kinds.every((kind) => kind === null)) return blocks;
  const called = new Map<string, number>();
  const whole = new Set<number>();
  for (const [index, block] of kinds.entries()) {
    if (block?.kind === 'call') called.set(block.id, index);
    const call = block?.kind === 'result' ? called.get(block.id) : undefined;
    if (call !== undefined) whole.add(call).add(index);
  }
  return blocks.filter((_block, index) => kinds[index] === null || whole.has(index));
}

/** Only items can be blocks of a server: what the encoder writes itself are calls of the client. */
export function serverBlock(block: ExactJson): ServerBlock | null {
  if (!(block instanceof RawJson) || !/"tool(?:Use|Result)"|\\/.test(block.text)) return null;
  const value = objectOf(block.text);
  const { toolUse, toolResult } = value;
  const known = isExactObject(toolUse) ? toolUse : toolResult;
  if (!isExactObject(known)) return null;
  const kind = known === toolUse ? 'call' : 'result';
  return { kind, id: textIn(known['toolUseId']), name: textIn(known['name']) };
}

function objectOf(text: string): ExactObject {
  try {
    return objectIn(parseExact(text));
  } catch {
    return {};
  }
}
