// Reads the fields of an object, and gathers the faults of all of them instead of ending at the first.
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { pointerSegment } from '../../schemas/rejection.ts';
import { hiddenCharacter } from '../skills/hidden-characters.ts';

/** What is wrong in a file: a JSON path (RFC 6901), and what to do. */
export interface EntryFault {
  readonly at: string;
  readonly message: string;
}

export interface FieldReader {
  /** The faults so far. */
  readonly faults: readonly EntryFault[];
  fault(at: string, message: string): void;
  /** Undefined when the field is absent. */
  get(field: string): Json | undefined;
  /** A text of at most `max` UTF-16 units, all of which a reader sees; null after a fault. `required` when it must be there. */
  text(field: string, max: number): string | null;
  optionalFlag(field: string): boolean | undefined;
  optionalWhole(field: string, max: number): number | undefined;
  /** A JSON Schema of an object; undefined when absent or after a fault. */
  objectSchema(field: string): JsonObject | undefined;
  /** Faults for every field that is not among these. */
  only(fields: readonly string[], of: string): void;
}

/** `base`: the JSON path of the object. */
export function readFields(value: JsonObject, base: string, faults: EntryFault[] = []): FieldReader {
  const fault = (at: string, message: string): void => void faults.push({ at: `${base}${at}`, message });
  const get = (field: string): Json | undefined => (Object.hasOwn(value, field) ? value[field] : undefined);
  return {
    faults,
    fault,
    get,
    text(field, max) {
      const given = get(field);
      const at = pointerSegment(field);
      if (typeof given !== 'string' || given.trim() === '') {
        fault(at, given === undefined ? 'is required' : 'must be a text that is not blank');
        return null;
      }
      const hidden = hiddenCharacter(given);
      if (given.length > max) fault(at, `has ${given.length} characters; at most ${max} are allowed`);
      else if (hidden !== null) fault(at, `has the character ${hidden}, which a reader does not see; remove it`);
      else return given;
      return null;
    },
    optionalFlag(field) {
      const given = get(field);
      if (given === undefined || typeof given === 'boolean') return given;
      fault(pointerSegment(field), 'must be true or false');
      return undefined;
    },
    optionalWhole(field, max) {
      const given = get(field);
      if (given === undefined) return undefined;
      if (Number.isSafeInteger(given) && Number(given) >= 1 && Number(given) <= max) return Number(given);
      fault(pointerSegment(field), `must be a whole number from 1 to ${max}`);
      return undefined;
    },
    objectSchema(field) {
      const given = get(field);
      if (given === undefined) return undefined;
      if (isPlainObject(given) && given['type'] === 'object') return given;
      fault(pointerSegment(field), 'must be a JSON Schema with "type": "object"');
      return undefined;
    },
    only(fields, of) {
      for (const field of Object.keys(value)) {
        if (!fields.includes(field))
          fault(pointerSegment(field), `is no field of ${of}; remove it, or correct its name`);
      }
    },
  };
}
