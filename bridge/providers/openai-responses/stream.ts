// Folds the events of a streamed response into the response itself. The last event has it whole; some servers leave its output
// empty, so that the items are also gathered from the events before it.
import { type StreamEvent, type StreamFold, parseEvent } from '../api/dialect.ts';
import {
  type ExactJson,
  type ExactObject,
  entryOf,
  isExactObject,
  listIn,
  objectIn,
  textIn,
} from '../api/exact-json.ts';
import { ProviderError, type ReplyDelta } from '../provider.ts';
import { responsesError } from './error.ts';
import { type OutputItems, newOutputItems } from './output-items.ts';

export function newResponseFold(): StreamFold {
  const items = newOutputItems();
  let started: ExactObject = {};
  let ended: ExactObject | null = null;

  return {
    add(source) {
      const { name, data } = source;
      if (ended !== null || data === '' || data === '[DONE]') return [];
      const event = eventOf(source);
      const type = textIn(event['type']) || (name ?? '');
      if (type === 'error' || (event['type'] === undefined && hasError(event))) throw responsesError(event, null);
      const end = entryOf(ENDS, type);
      if (end !== undefined) ended = endedResponse({ ...started, ...objectIn(event['response']) }, end);
      else if (STARTS.has(type)) started = objectIn(event['response']);
      else return addToItems(items, type, event);
      return [];
    },
    isClosed: () => ended !== null,
    *final() {
      if (ended === null) return null;
      if (listIn(ended['output']).length > 0) return ended;
      const output = yield* items.all();
      // The texts that were joined may have megabytes.
      yield;
      return { ...ended, output };
    },
  };
}

const STARTS: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress']);

/** The events that end a stream, and the status of the response in them. */
const ENDS: Readonly<Record<string, string>> = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
  'response.cancelled': 'cancelled',
};

// Some servers leave the status of the beginning in the last event.
const endedResponse = (response: ExactObject, status: string): ExactObject =>
  ['', 'queued', 'in_progress'].includes(textIn(response['status'])) ? { ...response, status } : response;

function eventOf(source: StreamEvent): ExactObject {
  try {
    const event = parseEvent(source);
    if (isExactObject(event)) return event;
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    // Not JSON: refused below.
  }
  throw new ProviderError(
    'provider_retryable',
    'the server sent an event of the Responses API that is not a JSON object ($)',
  );
}

/** Gateways send their own errors without a type. */
function hasError({ error }: ExactObject): boolean {
  return isExactObject(error) || (typeof error === 'string' && error !== '');
}

/** What the events of items add to: a field of the item, or a part of its `content` or `summary`. */
interface Piece {
  readonly into: 'content' | 'summary' | 'arguments' | 'input';
  /** The field of the event that has it. */
  readonly field: string;
  /** `add`: appended. `set`: the whole text. `part`: the part without its text, or with it. */
  readonly how: 'add' | 'set' | 'part';
  readonly shows?: ReplyDelta['kind'];
}

const PIECES: Readonly<Record<string, Piece>> = {
  'response.content_part.added': { into: 'content', field: 'part', how: 'part' },
  'response.content_part.done': { into: 'content', field: 'part', how: 'part' },
  'response.output_text.delta': { into: 'content', field: 'delta', how: 'add', shows: 'text' },
  'response.output_text.done': { into: 'content', field: 'text', how: 'set' },
  'response.refusal.delta': { into: 'content', field: 'delta', how: 'add', shows: 'text' },
  'response.refusal.done': { into: 'content', field: 'refusal', how: 'set' },
  'response.reasoning_part.added': { into: 'content', field: 'part', how: 'part' },
  'response.reasoning_part.done': { into: 'content', field: 'part', how: 'part' },
  'response.reasoning_text.delta': { into: 'content', field: 'delta', how: 'add', shows: 'thinking' },
  'response.reasoning_text.done': { into: 'content', field: 'text', how: 'set' },
  'response.reasoning_summary_part.added': { into: 'summary', field: 'part', how: 'part' },
  'response.reasoning_summary_part.done': { into: 'summary', field: 'part', how: 'part' },
  'response.reasoning_summary_text.delta': { into: 'summary', field: 'delta', how: 'add', shows: 'thinking' },
  'response.reasoning_summary_text.done': { into: 'summary', field: 'text', how: 'set' },
  'response.function_call_arguments.delta': { into: 'arguments', field: 'delta', how: 'add' },
  'response.function_call_arguments.done': { into: 'arguments', field: 'arguments', how: 'set' },
  'response.custom_tool_call_input.delta': { into: 'input', field: 'delta', how: 'add' },
  'response.custom_tool_call_input.done': { into: 'input', field: 'input', how: 'set' },
};

const NONE: readonly ReplyDelta[] = [];

/** Events of other kinds tell of a progress that the item itself has in the end. */
function addToItems(items: OutputItems, type: string, event: ExactObject): readonly ReplyDelta[] {
  if (type === 'response.output_item.added') items.open(event);
  else if (type === 'response.output_item.done') items.close(event);
  const piece = entryOf(PIECES, type);
  if (piece === undefined) return NONE;
  const value = event[piece.field];
  if (piece.how === 'part') {
    items.part(event, piece.into, objectIn(value));
    return startsParagraph(type, event) ? [{ kind: 'thinking', text: '\n\n' }] : NONE;
  }
  const text = textOf(value, type, piece.field);
  items.text(event, piece, text);
  return piece.shows === undefined || text === '' ? NONE : [{ kind: piece.shows, text }];
}

// Each part of a summary is a paragraph of its own.
const startsParagraph = (type: string, event: ExactObject): boolean =>
  type === 'response.reasoning_summary_part.added' &&
  event['summary_index'] !== 0 &&
  event['summary_index'] !== undefined;

/** A delta that cannot be read must not be skipped: what remained might be JSON, but not what the model wrote. */
function textOf(value: ExactJson | undefined, type: string, field: string): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  throw new ProviderError(
    'provider_retryable',
    `the server sent an event ${type} that cannot be read: $.${field} is not a text`,
  );
}
