// `refold verify --laws`: what the judge of a record finds is printed with both positions, listed with --json, and fails the
// command. The fold refuses to replay a breach, so the judge is replaced by one that finds some.
import { PassThrough } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { type LawBreach, type LawCheck, newLawCheck } from '../../src/core/index.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import { newOutput } from '../../src/cli/output.ts';
import { DEMO, DEMO_EVENTS } from '../support/e2e/recorded-demo.ts';

const planted: { found: readonly LawBreach[]; count: number } = { found: [], count: 0 };

vi.mock(import('../../src/core/law-check.ts'), async (original) => {
  const real = await original();
  const lying = (check: LawCheck): LawCheck => ({
    add: (folded) => check.add(folded),
    breaches: () => [...check.breaches(), ...planted.found],
    count: () => check.count() + planted.count,
  });
  return { ...real, newLawCheck: () => lying(real.newLawCheck()) };
});

afterEach(() => Object.assign(planted, { found: [], count: 0 }));

const TWICE: LawBreach = {
  law: 'began_once',
  position: 9,
  against: 7,
  message: '"a" must not be repeated, but begins again',
};
const UNKNOWN: LawBreach = { law: 'deny_won', position: 12, against: -1, message: '"b" is planned' };

async function verify(laws: boolean, json: boolean): Promise<{ readonly code: number; readonly printed: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const command = { sources: [DEMO], all: false, laws, dataDir: '/nowhere' };
  const code = await verifyCommand(command, newOutput({ stdout, stderr }, json));
  stdout.end();
  return { code, printed: String(stdout.read()) };
}

const firstObject = (printed: string): unknown => JSON.parse(printed.split('\n')[0] ?? '');

test('a record that keeps the laws is verified, and the answer says that they were judged', async () => {
  const text = await verify(true, false);
  expect(text.code).toBe(0);
  expect(text.printed).toMatch(
    new RegExp(`^verified +file \\S+, session \\S+ {2}${DEMO_EVENTS.length} events, laws kept in `),
  );
  const { code, printed } = await verify(true, true);
  expect(code).toBe(0);
  expect(firstObject(printed)).toMatchObject({ verified: true, laws: { breaches: [], found: 0 } });
});

test('each breach is named with both positions, and the command fails', async () => {
  Object.assign(planted, { found: [TWICE, UNKNOWN], count: 5 });
  const text = await verify(true, false);
  expect(text.code).toBe(1);
  expect(text.printed).toMatch(/^bad +/);
  expect(text.printed).toContain(
    'position 9, against position 7: "a" must not be repeated, but begins again (law began_once)\n',
  );
  expect(text.printed).toContain('position 12, against the genesis record: "b" is planned (law deny_won)\n');
  expect(text.printed).toContain('and 3 further breaches; --json lists the first 2\n');
  expect(text.printed).toContain('1 bad');
  const { code, printed } = await verify(true, true);
  expect(code).toBe(1);
  expect(firstObject(printed)).toMatchObject({
    verified: false,
    laws: { breaches: [TWICE, UNKNOWN], found: 5 },
    fault: { position: 9, what: 'law' },
  });
});

test('without --laws no record is judged', async () => {
  Object.assign(planted, { found: [TWICE], count: 1 });
  const { code, printed } = await verify(false, true);
  expect(code).toBe(0);
  expect(firstObject(printed)).not.toHaveProperty('laws');
  expect(newLawCheck().count()).toBe(1);
});
