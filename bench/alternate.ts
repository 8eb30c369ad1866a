// Runs the contestants alternately, every second time in the opposite order, so that drift on a shared machine affects all
// of them equally.

type Contest<K extends string> = { readonly [name in K]: () => number | Promise<number> };

/** One value of each contestant for each run; `onRun` is called before each run. */
export async function alternate<K extends string>(
  runs: number,
  contest: Contest<K>,
  onRun: (run: number) => void = () => undefined,
): Promise<{ readonly [name in K]: readonly number[] }> {
  const names = Object.keys(contest) as K[];
  const values = Object.fromEntries(names.map((name) => [name, [] as number[]])) as { [name in K]: number[] };
  for (let run = 0; run < runs; run += 1) {
    onRun(run + 1);
    const order = run % 2 === 0 ? names : names.toReversed();
    for (const name of order) values[name].push(await contest[name]());
  }
  return values;
}

/** How often `work` runs in a second: repeated until `atLeastMs` have passed. */
export function rateOf(work: () => void, atLeastMs: number): number {
  const startedAt = performance.now();
  let count = 0;
  let elapsed = 0;
  do {
    work();
    count += 1;
    elapsed = performance.now() - startedAt;
  } while (elapsed < atLeastMs);
  return (count * 1_000) / elapsed;
}
