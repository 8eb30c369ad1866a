// The laws of the engine, in one table: the judge, the tests and docs/design.md ("Laws") use its numbers and its names.

export const LAWS = [
  { number: 1, name: 'replay identity' },
  { number: 2, name: 'effects from state' },
  { number: 3, name: 'durable first' },
  { number: 4, name: 'settle once' },
  { number: 5, name: 'pairing' },
  { number: 6, name: 'deny wins' },
  { number: 7, name: 'bounded' },
  { number: 8, name: 'the world is recorded' },
  { number: 9, name: 'approvals bound' },
  { number: 10, name: 'only the plan runs' },
  { number: 11, name: 'no conflicting calls overlap' },
  { number: 12, name: 'runs at most once' },
  { number: 13, name: 'retried when due' },
  { number: 14, name: 'honest reports' },
  { number: 15, name: 'nothing is lost' },
  { number: 16, name: 'undone once' },
  { number: 17, name: 'leases are fenced' },
  { number: 18, name: 'live bridges keep their calls' },
  { number: 19, name: 'every run ends' },
  { number: 20, name: 'waits end in time' },
  { number: 21, name: 'the window is whole' },
  { number: 22, name: 'deltas leave no trace' },
  { number: 23, name: 'unapproved tools are out' },
  { number: 24, name: 'no question is lost' },
  { number: 25, name: 'noted work is awaited' },
  { number: 26, name: 'answers are delivered once' },
] as const;

/** The name of a law of the engine. */
export type Law = (typeof LAWS)[number]['name'];

/** `law 4, settle once` for a law of the engine; a law that a test adds is shown by its quoted name. */
export function lawLabel(name: string): string {
  const law = LAWS.find((known) => known.name === name);
  return law === undefined ? `law "${name}"` : `law ${law.number}, ${law.name}`;
}
