import { test } from 'vitest';
import { simulate } from '../../src/testing/simulate.ts';
import { refoldBridge } from '../support/refold-bridge.ts';
test('try', async () => {
  const from = Number(process.env['FROM'] ?? 1),
    n = Number(process.env['N'] ?? 50);
  const t = performance.now();
  let ev = 0,
    ex = 0,
    ms = 0,
    lines = 0;
  const bad: string[] = [];
  for (let seed = from; seed < from + n; seed += 1) {
    const r = await simulate({ seed, bridge: refoldBridge });
    ev += r.events;
    ex += r.executions;
    ms += r.passedMs;
    lines += r.trace.length;
    if (r.violations.length > 0) {
      bad.push(`${seed}: ${r.violations[0]?.law}: ${r.violations[0]?.message} @${r.violations[0]?.atMs}`);
      if (process.env['SHOW']) {
        console.log(JSON.stringify(r.scenario, null, 1));
        console.log(r.trace.join('\n'));
      }
    }
  }
  console.log(
    `${n} seeds, ${((performance.now() - t) / n).toFixed(2)} ms each, ev ${ev / n} ex ${ex / n} ms ${ms / n} lines ${lines / n}`,
  );
  console.log(bad.length, bad.slice(0, 25).join('\n'));
}, 600000);
