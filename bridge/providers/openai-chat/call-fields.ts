// The fields of a call that refold understands. Any other one goes back to the model that wrote it.

export const CALL_FIELDS: ReadonlySet<string> = new Set(['id', 'index', 'type', 'function', 'custom']);
export const BODY_FIELDS: ReadonlySet<string> = new Set(['name', 'arguments', 'input']);
