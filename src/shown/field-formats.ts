// The formats of texts in a question that a call asks, and whether a text has one. They are checked so that a person is told at
// once what is wrong; the engine holds the answer against the whole schema.

export type FieldFormat = 'date' | 'date-time' | 'email' | 'uri';

interface Format {
  /** For people. */
  readonly what: string;
  readonly fits: (text: string) => boolean;
}

/** RFC 3339, "Internet Date/Time Format". */
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

export const FORMATS: Readonly<Record<FieldFormat, Format>> = {
  date: { what: 'a date, such as 2027-01-31', fits: isDate },
  'date-time': {
    what: 'a date and a time with its zone, such as 2027-01-31T18:30:00Z',
    fits: (text) => /^.{10}[ t]/i.test(text) && isDate(text.slice(0, 10)) && TIME.test(text.slice(11)),
  },
  email: { what: 'an e-mail address, such as ada@example.com', fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
  uri: { what: 'a whole address, such as https://example.com/', fits: (text) => /^[a-z][a-z\d+.-]*:\S+$/i.test(text) },
};

export const isFieldFormat = (format: unknown): format is FieldFormat =>
  typeof format === 'string' && Object.hasOwn(FORMATS, format);

function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
