// The output items of a streamed response as its events tell them: an item opens, its texts arrive in deltas, and it is closed
// with the whole item. An item that was never closed, or closed without its text, is put together from the deltas.
import type { Steps } from '../../../src/core/steps.ts';
import { endsStep } from '../api/dialect.ts';
import { type ExactJson, type ExactObject, listIn, objectIn, textIn } from '../api/exact-json.ts';

type List = 'content' | 'summary';
type Field = List | 'arguments' | 'input';

export interface OutputItems {
  /** `response.output_item.added`. */
  open(event: ExactObject): void;
  /** `response.output_item.done`: the item is whole. */
  close(event: ExactObject): void;
  /** A part of a list of the item, which may lack its text. */
  part(event: ExactObject, into: Field, part: ExactObject): void;
  /** A text of the item or of one of its parts: appended, or whole. */
  text(event: ExactObject, target: { readonly into: Field; readonly how: 'add' | 'set' | 'part' }, text: string): void;
  /** The items in order. */
  all(): Steps<readonly ExactJson[]>;
}

/** An item of which events have told. `pieces` are its texts; a key is a field, or a list with an index. */
interface Slot {
  readonly index: number;
  item: ExactObject;
  /** Null while there are none, and once the item has them all itself. */
  pieces: Map<string, Piece> | null;
}

interface Piece {
  readonly into: Field;
  readonly at: number;
  part: ExactObject;
  chunks: string[];
}

export function newOutputItems(): OutputItems {
  const slots: Slot[] = [];
  const byIndex = new Map<number, Slot>();
  const byId = new Map<string, Slot>();

  function add(index: number | null, id: string): Slot {
    const slot: Slot = { index: index ?? slots.length, item: {}, pieces: null };
    slots.push(slot);
    if (index !== null) byIndex.set(index, slot);
    if (id !== '') byId.set(id, slot);
    return slot;
  }

  /** The slot that an event is about: by its index, else by its item's id, else the newest. */
  function slotOf(event: ExactObject): Slot {
    const index = indexIn(event['output_index']);
    const id = textIn(event['item_id']) || textIn(objectIn(event['item'])['id']);
    const found = index === null ? (byId.get(id) ?? (id === '' ? slots.at(-1) : undefined)) : byIndex.get(index);
    return found ?? add(index, id);
  }

  function pieceOf(event: ExactObject, into: Field): Piece {
    const listed = into === 'content' || into === 'summary';
    const at = listed ? (indexIn(event[into === 'content' ? 'content_index' : 'summary_index']) ?? 0) : 0;
    const slot = slotOf(event);
    const key = `${into} ${at}`;
    slot.pieces ??= new Map();
    let piece = slot.pieces.get(key);
    if (piece === undefined) slot.pieces.set(key, (piece = { into, at, part: {}, chunks: [] }));
    return piece;
  }

  return {
    open(event) {
      const item = objectIn(event['item']);
      const index = indexIn(event['output_index']);
      const id = textIn(item['id']);
      const there = index === null ? byId.get(id) : byIndex.get(index);
      // Some servers give every item the index 0: another id is another item.
      const known = textIn(there?.item['id']);
      const slot = there === undefined || (known !== '' && id !== '' && known !== id) ? add(index, id) : there;
      slot.item = item;
    },
    close(event) {
      const slot = slotOf(event);
      slot.item = objectIn(event['item']);
      const told = [...(slot.pieces?.values() ?? [])];
      if (told.every(({ into }) => has(slot.item, into))) slot.pieces = null;
    },
    part(event, into, part) {
      pieceOf(event, into).part = part;
    },
    text(event, { into, how }, text) {
      const piece = pieceOf(event, into);
      if (how === 'set') piece.chunks = [text];
      else piece.chunks.push(text);
    },
    *all() {
      const items: ExactJson[] = [];
      for (const slot of slots.toSorted((a, b) => a.index - b.index)) {
        items.push(wholeItem(slot));
        if (endsStep(items.length)) yield;
      }
      return items;
    },
  };
}

const indexIn = (value: ExactJson | undefined): number | null => (typeof value === 'number' ? value : null);

const has = (item: ExactObject, field: Field): boolean =>
  field === 'content' || field === 'summary' ? listIn(item[field]).length > 0 : textIn(item[field]) !== '';

/** The item with its gaps filled from the deltas. */
function wholeItem({ item, pieces }: Slot): ExactObject {
  if (pieces === null) return item;
  const told = [...pieces.values()];
  const type = textIn(item['type']) || typeOf(told);
  const filled: Record<string, ExactJson> = { ...item, type };
  if (type === 'message') filled['role'] ??= 'assistant';
  for (const field of ['arguments', 'input'] as const) {
    const piece = told.find(({ into }) => into === field);
    if (piece !== undefined && !has(item, field)) filled[field] = piece.chunks.join('');
  }
  for (const list of ['content', 'summary'] as const) {
    const parts = told.filter(({ into }) => into === list).toSorted((a, b) => a.at - b.at);
    if (parts.length > 0 && !has(item, list)) filled[list] = parts.map((piece) => partOf(piece, type));
  }
  return filled;
}

const typeOf = (told: readonly Piece[]): string =>
  told.some(({ into }) => into === 'summary') ? 'reasoning' : 'message';

function partOf({ into, part, chunks }: Piece, type: string): ExactObject {
  const listed = into === 'summary' ? 'summary_text' : type === 'reasoning' ? 'reasoning_text' : 'output_text';
  const kind = textIn(part['type']) || listed;
  const field = kind === 'refusal' ? 'refusal' : 'text';
  const filled: Record<string, ExactJson> = { ...part, type: kind };
  filled[field] = chunks.length === 0 ? textIn(part[field]) : chunks.join('');
  if (kind === 'output_text') filled['annotations'] ??= [];
  return filled;
}
