// Draws a transition table as a Mermaid state diagram, so that the docs show the table the code uses.
type Table = Readonly<Record<string, Partial<Readonly<Record<string, readonly string[]>>>>>;

/** One line for each pair of states, with the events between them, in declared order. */
export function stateDiagram(table: Table): string {
  const lines = Object.entries(table).flatMap(([from, events]) => {
    const byTarget = new Map<string, string[]>();
    for (const [event, targets] of Object.entries(events)) {
      for (const to of new Set(targets)) {
        if (to !== from) byTarget.set(to, [...(byTarget.get(to) ?? []), event]);
      }
    }
    return [...byTarget].map(([to, names]) => `  ${from} --> ${to}: ${names.join(', ')}`);
  });
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}
