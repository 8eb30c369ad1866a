// A conversation as the messages of Converse. They alternate, begin and end with the user's, and no text in them is blank.
import { isPlainObject } from '../../../schemas/json.ts';
import {
  type ExactJson,
  type ExactObject,
  RawJson,
  exactText,
  isExactObject,
  listIn,
  objectIn,
  parseExact,
  textIn,
} from '../api/exact-json.ts';
import { fittingParts } from '../api/layout-fit.ts';
import { foldedNames, hasAnyOf, misspells } from '../api/client-names.ts';
import { wireIds } from '../api/wire-ids.ts';
import type { AssistantMessage, Message, MessageAttachment, MessageCall, ToolMessage } from '../provider.ts';
import { leftOut, newAttachmentWriter } from './attachments.ts';
import { idRuleOf, needsSignature, takesRichResults } from './model-traits.ts';
import { withoutHalfWork } from './server-work.ts';

export interface ConverseMessage extends ExactObject {
  readonly role: 'user' | 'assistant';
  readonly content: readonly ExactJson[];
}

/** Put first when the conversation begins with the model's turn: its beginning was cut off. */
const OPENING = 'The beginning of this conversation is left out.';
/** Put last when the conversation ends with the model's turn: newer models do not continue one. */
const CONTINUE = 'Continue.';
/** Results may not be empty. */
const NO_OUTPUT = '(no output)';
const NO_RESULT = 'This call has no result.';

export function converseMessages(messages: readonly Message[], model: string): readonly ConverseMessage[] {
  const writer: Writer = { model, attachment: newAttachmentWriter() };
  const turns: { role: 'user' | 'assistant'; content: ExactJson[] }[] = [];
  const put = (role: 'user' | 'assistant', content: readonly ExactJson[]): void => {
    if (content.length === 0) return;
    const last = turns.at(-1);
    if (last?.role === role) for (const block of content) last.content.push(block);
    else turns.push({ role, content: [...content] });
  };
  let calls: readonly MessageCall[] = [];
  let since: Exclude<Message, AssistantMessage>[] = [];
  for (const message of wireIds(messages, idRuleOf(model))) {
    if (message.role !== 'assistant') {
      since.push(message);
      continue;
    }
    const content = assistantBlocks(message, model);
    if (content.length === 0) continue;
    put('user', userBlocks(calls, since, writer));
    put('assistant', content);
    ({ calls } = message);
    since = [];
  }
  put('user', userBlocks(calls, since, writer));
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [{ text: OPENING }] });
  if (turns.at(-1)?.role !== 'user') put('user', [{ text: CONTINUE }]);
  return turns.map(({ role, content }) => ({ role, content: role === 'user' ? withText(content) : content }));
}

interface Writer {
  readonly model: string;
  readonly attachment: (attachment: MessageAttachment) => ExactObject;
}

const isBlank = (text: string): boolean => text.trim() === '';
const textBlocks = (text: string): readonly ExactObject[] => (isBlank(text) ? [] : [{ text }]);

/** What came between two turns of the model: the results of its calls in their order, then everything else. */
function userBlocks(
  calls: readonly MessageCall[],
  since: readonly Exclude<Message, AssistantMessage>[],
  writer: Writer,
): readonly ExactJson[] {
  const results = new Map<string, ToolMessage>();
  const asked = new Set(calls.map(({ id }) => id));
  const others: ExactJson[] = [];
  for (const message of since) {
    const { attachments = [] } = message;
    const isResult = message.role === 'tool' && asked.has(message.call_id) && !results.has(message.call_id);
    if (isResult) results.set(message.call_id, message);
    if (!isResult || filesStandBeside(message, writer)) others.push(...attachments.map(writer.attachment));
    if (!isResult) others.push(...textBlocks(message.role === 'user' ? message.text : textOfOrphan(message)));
  }
  return [...calls.map(({ id }) => resultBlock(id, results.get(id), writer)), ...others];
}

/** The result of a call that failed may hold text only. */
const filesStandBeside = ({ is_error }: ToolMessage, { model }: Writer): boolean => is_error && takesRichResults(model);

/** A result whose call is not in the conversation cannot be sent as one. */
const textOfOrphan = ({ name, text }: ToolMessage): string => `The result of an earlier call of ${name}:\n${text}`;

function resultBlock(toolUseId: string, result: ToolMessage | undefined, writer: Writer): ExactObject {
  const rich = takesRichResults(writer.model);
  const { text, is_error, attachments = [] } = result ?? { text: NO_RESULT, is_error: true };
  // The models that take no status are told in words.
  const said = is_error && !rich ? `The call failed: ${text}` : text;
  const files = is_error && rich ? [] : attachments.map(rich ? writer.attachment : leftOut);
  const content = [...textBlocks(said), ...files];
  return {
    toolResult: {
      toolUseId,
      content: content.length === 0 ? [{ text: NO_OUTPUT }] : content,
      ...(is_error && rich ? { status: 'error' } : {}),
    },
  };
}

/** A message with a document must also have a text. */
function withText(content: readonly ExactJson[]): readonly ExactJson[] {
  const has = (key: string): boolean => content.some((block) => isExactObject(block) && key in block);
  if (!has('document') || has('text')) return content;
  return [...content, { text: 'See the attached file.' }];
}

function assistantBlocks(message: AssistantMessage, model: string): readonly ExactJson[] {
  const blocks = [...withoutHalfWork(rebuilt(message, model) ?? plainBlocks(message))];
  // A turn may not end with reasoning.
  for (let last = blocks.at(-1); last instanceof RawJson && isReasoning(last.text); last = blocks.at(-1)) blocks.pop();
  return blocks;
}

const plainBlocks = ({ text, calls }: AssistantMessage): readonly ExactJson[] => [
  ...textBlocks(text),
  ...calls.map((call) => callBlock(call)),
];

/** Whether the text of an item is a block of reasoning. */
export const isReasoning = (item: string): boolean => item.startsWith('{"reasoningContent":');

/** The turn from its layout; null when that is of another API or model, or does not fit. */
function rebuilt(message: AssistantMessage, model: string): readonly ExactJson[] | null {
  const { text, calls } = message;
  const parts = fittingParts(message, 'bedrock.converse', model);
  if (parts === null) return null;
  let at = 0;
  return parts.flatMap((part): readonly ExactJson[] => {
    if ('item' in part) return mayGoBack(part.item, model) ? [new RawJson(part.item)] : [];
    const rest = part.with === undefined ? {} : objectIn(parseExact(part.with));
    if ('text' in part) {
      at += part.text;
      return textPart(text.slice(at - part.text, at), rest);
    }
    const call = calls[part.call];
    return call === undefined ? [] : [callBlock(call, rest)];
  });
}

/** Blocks that only a client sends. */
const OF_CLIENTS = foldedNames('document', 'video', 'searchResult', 'guardContent', 'cachePoint', 'system', 'role');
/** Work of the provider's own tools, whose halves `withoutHalfWork` leaves out. */
const PAIRED = ['toolUse', 'toolResult'];

function mayGoBack(item: string, model: string): boolean {
  const block = objectIn(parseExact(item));
  if (hasAnyOf(block, OF_CLIENTS) || misspells(block, PAIRED)) return false;
  if (!isReasoning(item) || !needsSignature(model)) return true;
  const reasoning = objectIn(objectIn(parseExact(item))['reasoningContent']);
  return reasoning['reasoningText'] === undefined || textIn(objectIn(reasoning['reasoningText'])['signature']) !== '';
}

/** In what a layout keeps of a block with citations, each text is replaced by its length. */
function textPart(text: string, rest: ExactObject): readonly ExactObject[] {
  const cited = rest['citationsContent'];
  if (!isExactObject(cited)) return isBlank(text) ? [] : [{ text, ...rest }];
  let at = 0;
  const content = listIn(cited['content']).map((piece) => {
    if (!isExactObject(piece) || typeof piece['text'] !== 'number') return piece;
    at += piece['text'];
    return { ...piece, text: text.slice(at - piece['text'], at) };
  });
  return [{ ...rest, citationsContent: { ...cited, content } }];
}

function callBlock({ id, name, arguments: written }: MessageCall, rest: ExactObject = {}): ExactObject {
  const use = { toolUseId: id, name: wireName(name), input: inputOf(written), ...objectIn(rest['toolUse']) };
  return { ...rest, toolUse: use };
}

// One invalid name that a model made up would make Converse refuse the whole conversation.
const wireName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed';

/** The arguments as an object. Other text is wrapped in one; the result of the call says what was wrong. */
function inputOf(written: string): ExactJson {
  try {
    if (isPlainObject(JSON.parse(written))) return new RawJson(exactText(parseExact(written)));
  } catch {
    // Not JSON: wrapped below.
  }
  return { invalid_arguments: written };
}
