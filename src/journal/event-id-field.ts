// Where the text of an event holds its id: nearly always in the first field of this name, so that storing the index of that
// field takes one byte, and storing nothing stands for the first.
import type { EventId } from '../../schemas/ids.ts';

const ID_FIELD = '"event_id":"';

/** The index of the field of this name that holds the id; null when none does. */
export function placeOfId(event: string, id: EventId): number | null {
  const quoted = JSON.stringify(id);
  let place = 0;
  for (let at = event.indexOf(ID_FIELD); at !== -1; at = event.indexOf(ID_FIELD, at + 1), place += 1) {
    if (event.startsWith(quoted, at + ID_FIELD.length - 1)) return place;
  }
  return null;
}

/** The text in the field of this index, if it is one. */
export function idInField(event: string, place: number): unknown {
  let at = event.indexOf(ID_FIELD);
  for (let passed = 0; at !== -1 && passed < place; passed += 1) at = event.indexOf(ID_FIELD, at + 1);
  if (at === -1) return null;
  const start = at + ID_FIELD.length - 1;
  for (let end = event.indexOf('"', start + 1); end !== -1; end = event.indexOf('"', end + 1)) {
    const quoted = event.slice(start, end + 1);
    if (!quoted.includes('\\')) return quoted.slice(1, -1);
    const read = readText(quoted);
    if (read !== null) return read;
  }
  return null;
}

function readText(quoted: string): unknown {
  try {
    return JSON.parse(quoted);
  } catch {
    return null;
  }
}
