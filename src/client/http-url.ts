// Checks the address of a server.

/** An absolute http or https URL. */
export const isHttpUrl = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value);
