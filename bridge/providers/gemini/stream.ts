// Folds a stream: each event is a GenerateContentResponse with the parts since the last one.
import {
  type ExactJson,
  type ExactObject,
  type FilledObject,
  isExactObject,
  listIn,
  objectIn,
  setFields,
  textIn,
} from '../api/exact-json.ts';
import type { Steps } from '../../../src/core/steps.ts';
import { type StreamEvent, type StreamFold, endsStep, parseEvent } from '../api/dialect.ts';
import { ProviderError, type ReplyDelta } from '../provider.ts';
import { errorOf } from './failure.ts';
import { type OpenCall, openCall } from './partial-args.ts';
import { blockReasonOf, indexOf, malformed, wordOf } from './reply.ts';

export function newGeminiFold(): StreamFold {
  const response = newResponseFold();
  let closed = false;
  return {
    add(event: StreamEvent): readonly ReplyDelta[] {
      const { data } = event;
      const isShort = data.length < 16;
      // Some proxies end the stream as other APIs do.
      closed ||= isShort && data.trim() === '[DONE]';
      if (closed || (isShort && data.trim() === '')) return [];
      const chunk = parseChunk(event);
      return Array.isArray(chunk) ? (chunk as readonly ExactJson[]).flatMap(response.add) : response.add(chunk);
    },
    // A finish reason is no last word: old models repeat it, and usage may follow it.
    isClosed: () => closed,
    final: response.final,
  };
}

/** A stream that a server answered in one piece, as a list of its events; null when it has no end marker. */
export function* foldList(chunks: readonly ExactJson[]): Steps<ExactJson | null> {
  const response = newResponseFold();
  for (const [index, chunk] of chunks.entries()) {
    response.add(chunk);
    if (endsStep(index)) yield;
  }
  return yield* response.final();
}

function parseChunk(event: StreamEvent): ExactJson {
  try {
    return parseEvent(event);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    throw malformed('an event', 'JSON');
  }
}

/** A run of text with no other field, a call whose arguments have not ended, or a whole part. */
type Folded =
  | { readonly thought: boolean; readonly texts: string[] }
  | { readonly call: OpenCall }
  | { readonly part: ExactObject };

function newResponseFold() {
  const folded: Folded[] = [];
  // Filled in place: copies of a stream's every chunk would cost more than parsing them.
  const whole: Fields = {};
  const usage: Fields = {};
  const candidate: Fields = {};
  let hasUsage = false;
  let hasCandidate = false;
  let open: OpenCall | null = null;

  function add(chunk: ExactJson): readonly ReplyDelta[] {
    if (!isExactObject(chunk)) throw malformed('an event', 'an object');
    if (chunk['error'] !== undefined) throw errorOf(chunk, null);
    // Counts are cumulative; a later chunk may leave out what an earlier one said.
    if (isExactObject(chunk['usageMetadata'])) {
      Object.assign(usage, chunk['usageMetadata']);
      hasUsage = true;
    }
    for (const key of KEPT) if (chunk[key] !== undefined) whole[key] = chunk[key];
    const deltas: ReplyDelta[] = [];
    const own = listIn(chunk['candidates']).find((each) => indexOf(each) === 0);
    if (own !== undefined) addCandidate(own, deltas);
    return deltas;
  }

  function addCandidate(next: ExactJson, deltas: ReplyDelta[]): void {
    if (!isExactObject(next)) throw malformed('$.candidates[0]', 'an object');
    hasCandidate = true;
    mergeCandidate(candidate, next);
    const parts = objectIn(next['content'])['parts'] ?? [];
    if (!Array.isArray(parts)) throw malformed('$.candidates[0].content.parts', 'a list');
    for (const part of parts as readonly ExactJson[]) {
      if (!isExactObject(part)) throw malformed('$.candidates[0].content.parts', 'a list of objects');
      if (isExactObject(part['functionCall'])) addCall(part, part['functionCall']);
      else addOther(part, deltas);
    }
  }

  function addOther(part: ExactObject, deltas: ReplyDelta[]): void {
    const text = textIn(part['text']);
    const thought = part['thought'] === true;
    if (text !== '') deltas.push({ kind: thought ? 'thinking' : 'text', text });
    if (!isPlainText(part, thought)) {
      folded.push({ part });
      return;
    }
    const last = folded.at(-1);
    if (last !== undefined && 'texts' in last && last.thought === thought) last.texts.push(text);
    else folded.push({ thought, texts: [text] });
  }

  function addCall(part: ExactObject, call: ExactObject): void {
    if (open !== null && textIn(call['name']) === '') {
      open = open.add(part) ? open : null;
    } else if (call['willContinue'] === true) {
      open = openCall(part);
      folded.push({ call: open });
    } else {
      open = null;
      folded.push({ part });
    }
  }

  function* final(): Steps<ExactJson | null> {
    if (wordOf(candidate['finishReason']) === '' && blockReasonOf(whole) === '') return null;
    if (hasUsage) whole['usageMetadata'] = usage;
    if (hasCandidate) {
      candidate['content'] = { role: 'model', parts: folded.map(partOf) };
      // The texts that were joined may have megabytes.
      yield;
      whole['candidates'] = [candidate];
    }
    return whole;
  }

  return { add, final };
}

/** What the final form says besides its candidate and its counts. */
const KEPT = ['promptFeedback', 'modelVersion', 'responseId'] as const;

type Fields = { [key: string]: ExactJson };

/** Text with no other field: the next one of its kind continues it. */
const isPlainText = (part: ExactObject, thought: boolean): boolean =>
  typeof part['text'] === 'string' && Object.keys(part).length === (thought ? 2 : 1);

function partOf(folded: Folded): ExactObject {
  if ('part' in folded) return folded.part;
  if ('call' in folded) return folded.call.part();
  const text = folded.texts.join('');
  return folded.thought ? { text, thought: true } : { text };
}

/** What the last chunk states counts; only citations are listed where their text was, and grounding may begin empty. */
function mergeCandidate(candidate: Fields, next: ExactObject): void {
  for (const key in next) {
    const field = next[key] as ExactJson;
    const old = candidate[key];
    const isUnset = key === 'finishReason' && wordOf(field) === '';
    if (key === 'content' || isUnset) continue;
    if (isExactObject(old) && isExactObject(field)) mergeFields(old, field, key === 'citationMetadata');
    else candidate[key] = isExactObject(field) ? { ...field } : field;
  }
}

/** Fills `old`, which is a copy of the first that came. */
function mergeFields(old: FilledObject, added: ExactObject, joins: boolean): void {
  for (const [key, field] of Object.entries(added)) {
    const before = old[key];
    if (!joins || !Array.isArray(field) || !Array.isArray(before)) setFields(old, { [key]: field });
    else for (const entry of listIn(field)) (before as ExactJson[]).push(entry);
  }
}
