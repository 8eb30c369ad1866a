// Counters, gauges and histograms, and their text for Prometheus (text format 0.0.4). The format is small and the figures are
// few, so no client library is used. A label has few values: codes and kinds, never ids.

/** Upper bounds of the buckets of a latency, in seconds. */
const SECONDS: readonly number[] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Read = () => number | ReadonlyMap<string, number>;

export interface Metrics {
  /** Returns how to count; `by` names the label whose value each count gives. */
  counter(name: string, help: string, by?: string): (value?: string, count?: number) => void;
  /** Is read when the text is made; a map has a figure for each value of the label. */
  gauge(name: string, help: string, read: Read, by?: string): void;
  /** Returns how to note a duration, in milliseconds; its name ends in `_seconds`. */
  latency(name: string, help: string): (milliseconds: number) => void;
  /** All figures, in Prometheus text format 0.0.4. */
  text(): string;
}

export function newMetrics(): Metrics {
  const families: (() => readonly string[])[] = [];
  const add = (name: string, type: string, help: string, lines: () => readonly string[]): void => {
    families.push(() => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines()]);
  };
  return {
    counter(name, help, by) {
      const counts = new Map<string, number>(by === undefined ? [['', 0]] : []);
      add(name, 'counter', help, () => linesOf(name, counts, by));
      return (value = '', count = 1) => void counts.set(value, (counts.get(value) ?? 0) + count);
    },
    gauge(name, help, read, by) {
      add(name, 'gauge', help, () => {
        const found = read();
        return linesOf(name, typeof found === 'number' ? new Map([['', found]]) : found, by);
      });
    },
    latency(name, help) {
      const buckets = SECONDS.map(() => 0);
      let [sum, count] = [0, 0];
      add(name, 'histogram', help, () => {
        const lines = SECONDS.map((bound, index) => `${name}_bucket{le="${bound}"} ${buckets[index]}`);
        return [...lines, `${name}_bucket{le="+Inf"} ${count}`, `${name}_sum ${sum}`, `${name}_count ${count}`];
      });
      return (milliseconds) => {
        const seconds = milliseconds / 1_000;
        sum += seconds;
        count += 1;
        for (const [index, bound] of SECONDS.entries())
          if (seconds <= bound) buckets[index] = (buckets[index] ?? 0) + 1;
      };
    },
    text: () => families.flatMap((lines) => [...lines(), '']).join('\n'),
  };
}

const linesOf = (name: string, figures: ReadonlyMap<string, number>, by = ''): readonly string[] =>
  Array.from(figures, ([value, figure]) => (by === '' ? `${name} ${figure}` : `${name}{${by}="${value}"} ${figure}`));
