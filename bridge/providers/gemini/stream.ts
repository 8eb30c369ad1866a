// Folds a stream: each event is a GenerateContentResponse with the parts since the last one.
import {
  type ExactJson,
  type ExactObject,
  isExactObject,
  listIn,
  objectIn,
  parseExact,
  textIn,
} from '../api/exact-json.ts';
import type { StreamEvent, StreamFold } from '../api/dialect.ts';
import type { ReplyDelta } from '../provider.ts';
import { errorOf } from './failure.ts';
import { type OpenCall, openCall } from './partial-args.ts';
import { CANDIDATE_ITEMS, blockReasonOf, indexOf, malformed, wordOf } from './reply.ts';

export function newGeminiFold(): StreamFold {
  const response = newResponseFold();
  let closed = false;
  return {
    add({ data }: StreamEvent): readonly ReplyDelta[] {
      // Some proxies end the stream as other APIs do.
      closed ||= data.trim() === '[DONE]';
      if (closed || data.trim() === '') return [];
      const chunk = parseChunk(data);
      return Array.isArray(chunk) ? (chunk as readonly ExactJson[]).flatMap(response.add) : response.add(chunk);
    },
    // A finish reason is no last word: old models repeat it, and usage may follow it.
    isClosed: () => closed,
    final: response.final,
  };
}

/** A stream that a server answered in one piece, as a list of its events; null when it has no end marker. */
export function foldList(chunks: readonly ExactJson[]): ExactJson | null {
  const response = newResponseFold();
  for (const chunk of chunks) response.add(chunk);
  return response.final();
}

/** Parses again without loss where a number of a call or an item may need it: most chunks are plain text. */
function parseChunk(data: string): ExactJson {
  try {
    const value = JSON.parse(data) as ExactJson;
    return needsExact(value) ? parseExact(data) : value;
  } catch {
    throw malformed('an event', 'JSON');
  }
}

function needsExact(value: ExactJson): boolean {
  if (Array.isArray(value)) return (value as readonly ExactJson[]).some(needsExact);
  return listIn(objectIn(value)['candidates']).some((candidate) => {
    const fields = objectIn(candidate);
    const parts = objectIn(fields['content'])['parts'];
    return mayLose(parts ?? null) || CANDIDATE_ITEMS.some((key) => mayLose(fields[key] ?? null));
  });
}

const mayLose = (value: ExactJson): boolean =>
  typeof value === 'number'
    ? !Number.isSafeInteger(value) || Object.is(value, -0)
    : typeof value === 'object' && value !== null && Object.values(value).some(mayLose);

/** A run of text with no other field, a call whose arguments have not ended, or a whole part. */
type Folded =
  | { readonly thought: boolean; readonly texts: string[] }
  | { readonly call: OpenCall }
  | { readonly part: ExactObject };

function newResponseFold() {
  const folded: Folded[] = [];
  let whole: ExactObject = {};
  let candidate: ExactObject | null = null;
  let open: OpenCall | null = null;

  function add(chunk: ExactJson): readonly ReplyDelta[] {
    if (!isExactObject(chunk)) throw malformed('an event', 'an object');
    if (chunk['error'] !== undefined) throw errorOf(chunk, null);
    const { candidates, usageMetadata, ...fields } = chunk;
    // Counts are cumulative; a later chunk may leave out what an earlier one said.
    const usage = isExactObject(usageMetadata) ? { ...objectIn(whole['usageMetadata']), ...usageMetadata } : null;
    whole = { ...whole, ...fields, ...(usage === null ? {} : { usageMetadata: usage }) };
    const own = listIn(candidates).find((each) => indexOf(each) === 0);
    return own === undefined ? [] : addCandidate(own);
  }

  function addCandidate(next: ExactJson): readonly ReplyDelta[] {
    if (!isExactObject(next)) throw malformed('$.candidates[0]', 'an object');
    const { content, ...fields } = next;
    candidate = mergeCandidate(candidate ?? {}, fields);
    const parts = objectIn(content)['parts'] ?? [];
    if (!Array.isArray(parts)) throw malformed('$.candidates[0].content.parts', 'a list');
    return (parts as readonly ExactJson[]).flatMap(addPart);
  }

  function addPart(part: ExactJson): readonly ReplyDelta[] {
    if (!isExactObject(part)) throw malformed('$.candidates[0].content.parts', 'a list of objects');
    if (isExactObject(part['functionCall'])) {
      addCall(part, part['functionCall']);
      return [];
    }
    const text = textIn(part['text']);
    const thought = part['thought'] === true;
    if (isPlainText(part, thought)) {
      const last = folded.at(-1);
      if (last !== undefined && 'texts' in last && last.thought === thought) last.texts.push(text);
      else folded.push({ thought, texts: [text] });
    } else folded.push({ part });
    return text === '' ? [] : [{ kind: thought ? 'thinking' : 'text', text }];
  }

  function addCall(part: ExactObject, call: ExactObject): void {
    const continues = open !== null && textIn(call['name']) === '';
    if (continues && open !== null) open = open.add(part) ? open : null;
    else if (call['willContinue'] === true) {
      open = openCall(part);
      folded.push({ call: open });
    } else {
      open = null;
      folded.push({ part });
    }
  }

  function final(): ExactJson | null {
    if (wordOf(candidate?.['finishReason']) === '' && blockReasonOf(whole) === '') return null;
    if (candidate === null) return whole;
    return { ...whole, candidates: [{ ...candidate, content: { role: 'model', parts: folded.map(partOf) } }] };
  }

  return { add, final };
}

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
function mergeCandidate(before: ExactObject, next: ExactObject): ExactObject {
  const merged: { [key: string]: ExactJson } = { ...before, ...next };
  for (const key of CANDIDATE_ITEMS) {
    const old = before[key];
    const added = next[key];
    if (isExactObject(old) && isExactObject(added)) merged[key] = mergeFields(old, added, key === 'citationMetadata');
  }
  if (wordOf(next['finishReason']) === '' && before['finishReason'] !== undefined) {
    merged['finishReason'] = before['finishReason'];
  }
  return merged;
}

function mergeFields(old: ExactObject, added: ExactObject, joins: boolean): ExactObject {
  const merged: { [key: string]: ExactJson } = { ...old };
  for (const [key, field] of Object.entries(added)) {
    merged[key] = joins && Array.isArray(field) ? [...listIn(old[key]), ...listIn(field)] : field;
  }
  return merged;
}
