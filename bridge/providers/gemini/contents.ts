// The turns of a conversation as Gemini takes them: user and model in alternation, a user first, no part empty.
import type { LayoutPart } from '../../../schemas/model-turn.ts';
import { foldedNames, hasAnyOf, misspells, withoutNames } from '../api/client-names.ts';
import {
  type ExactJson,
  type ExactObject,
  RawJson,
  isExactObject,
  objectIn,
  parseExact,
  textIn,
} from '../api/exact-json.ts';
import { sameFamily } from '../api/model-family.ts';
import { wireIds } from '../api/wire-ids.ts';
import type { AssistantMessage, Message, MessageAttachment, MessageCall } from '../provider.ts';
import { functionName, isThirdGeneration } from './names.ts';
import { CANDIDATE_ITEMS, GEMINI } from './reply.ts';

/** Stands for what a window cut off: a conversation begins with a user's turn. */
const EARLIER = '[The beginning of this conversation is left out.]';

/** What the API documents for calls that no Gemini model of this conversation signed (ai.google.dev, "Thought signatures"). */
const UNSIGNED = 'skip_thought_signature_validator';

type Part = ExactJson;
interface UserTurn {
  readonly role: 'user';
  /** In call order, and before anything else: the API looks for them right after the calls. */
  readonly results: Part[];
  readonly media: Part[];
  readonly rest: Part[];
}
type Turn = UserTurn | { readonly role: 'model'; readonly parts: Part[] };

export function contentsOf(messages: readonly Message[], model: string): readonly ExactJson[] {
  const turns: Turn[] = [];
  // The calls that have no result yet, as the wire names them: with an id only where the API gave one.
  const owing = new Map<string, ExactObject>();
  for (const message of wireIds(messages, { alphabet: /[!-~]/, max: 256 })) {
    if (message.role === 'assistant') {
      const parts = modelParts(message, model);
      if (parts.length === 0) continue;
      settle(turns, owing);
      modelTurn(turns).push(...parts.map(({ part }) => part));
      for (const { id, named } of parts) if (id !== undefined) owing.set(id, named);
    } else if (message.role === 'tool' || message.text !== '' || (message.attachments ?? []).length > 0) {
      addUserParts(userTurn(turns), message, owing);
    }
  }
  settle(turns, owing);
  const written = turns.map(contentOf);
  return written[0]?.role === 'user' ? written : [{ role: 'user', parts: [{ text: EARLIER }] }, ...written];
}

/** No call stays without a result: the API refuses the request. Conversations are paired, so that this is a last resort. */
function settle(turns: Turn[], owing: Map<string, ExactObject>): void {
  for (const named of owing.values()) userTurn(turns).results.push(resultPart(named, 'There is no result.', true));
  owing.clear();
}

const contentOf = (turn: Turn): { readonly role: string; readonly parts: readonly Part[] } =>
  turn.role === 'model'
    ? { role: 'model', parts: turn.parts }
    : { role: 'user', parts: [...turn.results, ...turn.media, ...turn.rest] };

function modelTurn(turns: Turn[]): Part[] {
  const last = turns.at(-1);
  if (last?.role === 'model') return last.parts;
  const parts: Part[] = [];
  turns.push({ role: 'model', parts });
  return parts;
}

function userTurn(turns: Turn[]): UserTurn {
  const last = turns.at(-1);
  if (last?.role === 'user') return last;
  const turn: UserTurn = { role: 'user', results: [], media: [], rest: [] };
  turns.push(turn);
  return turn;
}

function addUserParts(
  turn: UserTurn,
  message: Exclude<Message, AssistantMessage>,
  owing: Map<string, ExactObject>,
): void {
  const files = (message.attachments ?? []).map(attachmentPart);
  if (message.role === 'user') {
    turn.rest.push(...files);
    if (message.text !== '') turn.rest.push({ text: message.text });
    return;
  }
  const call = owing.get(message.call_id);
  if (call === undefined) turn.rest.push({ text: `The result of ${message.name}: ${message.text}` });
  else turn.results.push(resultPart(call, message.text, message.is_error));
  owing.delete(message.call_id);
  turn.media.push(...files);
}

/** The API reads `output` and `error` of a response as what they are called. */
const resultPart = (call: ExactObject, text: string, isError: boolean): Part => ({
  functionResponse: { ...call, response: isError ? { error: text } : { output: text } },
});

const TAKEN: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'application/pdf']);

function attachmentPart({ media_type, name, bytes }: MessageAttachment): Part {
  if (TAKEN.has(media_type)) {
    return { inlineData: { mimeType: media_type, data: Buffer.from(bytes).toString('base64') } };
  }
  return {
    text: `[The file ${name ?? 'without a name'} (${media_type}, ${bytes.length} bytes) is left out: the API takes no such files.]`,
  };
}

/** A part of the model's, and of a call the id and how the wire names it. */
interface ModelPart {
  readonly part: Part;
  readonly id?: string;
  readonly named: ExactObject;
}

function modelParts(message: AssistantMessage, model: string): readonly ModelPart[] {
  const parts: ModelPart[] = [];
  // Only the first call of a turn must be signed: parallel ones carry no signature.
  let signs = isThirdGeneration(model);
  let offset = 0;
  const isOfModel = newItemJudge();
  for (const part of layoutOf(message, model)) {
    const beside = 'item' in part ? {} : withOf(part);
    if ('item' in part) {
      if (!isOfCandidate(part.item) && isOfModel(part.item)) parts.push({ part: new RawJson(part.item), named: {} });
    } else if ('text' in part) {
      const text = message.text.slice(offset, offset + part.text);
      offset += part.text;
      if (text !== '' || Object.keys(beside).length > 0) parts.push({ part: { text, ...beside }, named: {} });
    } else {
      parts.push(callPart(message.calls[part.call] as MessageCall, beside, signs));
      signs = false;
    }
  }
  return parts;
}

function callPart(call: MessageCall, beside: ExactObject, signs: boolean): ModelPart {
  const { functionCall, ...rest } = beside;
  const { id: given, ...own } = objectIn(functionCall);
  const name = functionName(call.name);
  const named: ExactObject = given === undefined ? { name } : { id: call.id, name };
  const args = parsed(call.arguments);
  // Arguments that are no JSON object were refused, and the result says why; the API takes an object only.
  const written = { ...named, args: isExactObject(args) ? args : { INVALID_JSON: call.arguments }, ...own };
  const signature = rest['thoughtSignature'] !== undefined || !signs ? {} : { thoughtSignature: UNSIGNED };
  return { part: { functionCall: written, ...rest, ...signature }, id: call.id, named };
}

/** The turn's own parts, where Gemini wrote them and they fit; else its text and then its calls. */
function layoutOf({ text, calls, layout }: AssistantMessage, model: string): readonly LayoutPart[] {
  if (layout !== undefined && layout.api === GEMINI && sameFamily(layout.model, model)) {
    const texts = layout.parts.reduce((sum, part) => sum + ('text' in part ? part.text : 0), 0);
    const named = layout.parts.flatMap((part) => ('call' in part ? [part.call] : []));
    const fits = texts === text.length && named.length === calls.length && named.every((call, index) => call === index);
    if (fits) return layout.parts;
  }
  return [{ text: text.length }, ...calls.map((_call, index) => ({ call: index }))];
}

function withOf(part: { readonly with?: string }): ExactObject {
  if (part.with === undefined) return {};
  const { functionCall, ...beside } = objectIn(parsed(part.with));
  const kept = withoutNames(beside, BESIDE_OTHERS);
  return functionCall === undefined ? kept : { functionCall, ...kept };
}

/** Kinds of data that a part has one of. */
const BESIDE_OTHERS = foldedNames('functionCall', 'functionResponse', 'fileData', 'text', 'toolResponse', 'role');

const isOfCandidate = (item: string): boolean => CANDIDATE_ITEMS.some((key) => item.startsWith(`{"${key}":`));

/**
 * Whether a model may have said the part. Results and files are the user's, and a server that answered a call itself would
 * speak in the name of a tool; the result of code goes back only after its code. In any spelling: protobuf reads
 * `function_response` as `functionResponse`.
 */
function newItemJudge(): (item: string) => boolean {
  let codes = 0;
  const calls = new Set<string>();
  return (item) => {
    const part = objectIn(parsed(item));
    if (hasAnyOf(part, OF_USERS) || misspells(part, PAIRED)) return false;
    if (part['executableCode'] !== undefined) codes += 1;
    if (part['toolCall'] !== undefined) calls.add(idIn(part['toolCall']));
    if (part['codeExecutionResult'] !== undefined && codes-- <= 0) return false;
    return part['toolResponse'] === undefined || calls.delete(idIn(part['toolResponse']));
  };
}

const idIn = (value: ExactJson): string => textIn(objectIn(value)['id']);
const OF_USERS = foldedNames('functionResponse', 'functionCall', 'fileData', 'role');
const PAIRED = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'];

function parsed(text: string): ExactJson {
  try {
    return parseExact(text);
  } catch {
    return null;
  }
}
