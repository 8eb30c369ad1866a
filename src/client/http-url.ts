// What can be the address of a server at all.

/** An absolute http or https URL. */
export const isHttpUrl = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value);
