// Every kind of event occurs in a recorded session, and the check fails when one does not.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newestRules } from '../../reducers/rules/known-rules.ts';
import { INGRESS_KINDS } from '../../schemas/index.ts';
import { at, runNode } from './run-tool.ts';

const CHECK = at('tools/record-fixtures/check.mjs');

test('the recorded sessions hold every kind of event', async () => {
  const { code, stdout } = await runNode([CHECK]);
  expect(stdout).not.toContain('MISSING');
  // Rules can be adopted only when there are later ones than the first.
  const possible = INGRESS_KINDS.length - (newestRules().rules > 1 ? 0 : 1);
  expect(stdout).toContain(`${possible} of ${possible} kinds`);
  expect(code).toBe(0);
});

test('every recorded session but the demo is the same when it is recorded again, in any version', async () => {
  const { code, stdout } = await runNode([at('tools/record-fixtures/main.mjs'), '--check']);
  expect(stdout).not.toContain('DIFFERS');
  expect(stdout.match(/: the same$/gm)?.length).toBeGreaterThan(20);
  expect(code).toBe(0);
});

test('a kind that occurs in no session is named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'refold-fixtures-'));
  try {
    await cp(at('replay-fixtures/run-limits'), join(folder, 'run-limits'), { recursive: true });
    const { code, stdout } = await runNode([CHECK, folder]);
    expect(stdout).toMatch(/^LeaseExpired +MISSING$/m);
    expect(stdout).toMatch(/^RunRequested +run-limits$/m);
    expect(code).toBe(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
