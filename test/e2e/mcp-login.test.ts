// `refold mcp login` and `logout` as processes: the address is shown, and the answer comes to the page or is given by the person.
import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { type Authorizing, startAuthorizing } from '../support/mcp/authorizing.ts';
import { CLI, freshDirectory, refold } from '../support/e2e/refold.ts';

interface Line {
  readonly event: string;
  readonly address?: string;
  readonly redirect_uri?: string;
  readonly needed?: boolean;
  readonly removed?: boolean;
}

async function configured(server: Authorizing): Promise<string> {
  const data = await freshDirectory();
  await refold(['mcp', 'add', 'far', '--url', server.url, '--data-dir', data]);
  return data;
}

/** Runs the command; `onAddress` gets the address that it shows, and gives it lines. */
async function run(
  args: readonly string[],
  onAddress: (line: Line, give: (text: string) => void) => void = () => undefined,
): Promise<{ readonly code: number | null; readonly lines: readonly Line[] }> {
  const child = spawn(process.execPath, [CLI, 'mcp', ...args, '--json'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    lines.push(line);
    if (line.event === 'mcp_login_address') onAddress(line, (given) => void child.stdin.write(`${given}\n`));
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, lines };
}

test('a person signs in with a browser here, then with one elsewhere, and signs out', { timeout: 60_000 }, async () => {
  await using server = await startAuthorizing();
  const data = await configured(server);
  const here = await run(['login', 'far', '--data-dir', data], ({ address = '' }) => void server.visit(address));
  expect(here).toMatchObject({ code: 0, lines: [{}, { event: 'mcp_login', server: 'far', needed: true }] });
  expect(await readdir(join(data, 'mcp-logins'))).toHaveLength(1);

  const elsewhere = await run(['login', 'far', '--data-dir', data], ({ address = '' }, give) => {
    void (async () => {
      const answer = await fetch(address, { redirect: 'manual' });
      give('not an address');
      give(answer.headers.get('location') ?? '');
    })();
  });
  expect(elsewhere).toMatchObject({ code: 0, lines: [{}, { event: 'mcp_login', needed: true }] });

  expect(await run(['logout', 'far', '--data-dir', data])).toMatchObject({ code: 0, lines: [{ removed: true }] });
  expect(await readdir(join(data, 'mcp-logins'))).toEqual([]);
  expect(await run(['logout', 'far', '--data-dir', data])).toMatchObject({ code: 0, lines: [{ removed: false }] });
});

test('what is refused fails the command, and keeps nothing', { timeout: 60_000 }, async () => {
  await using server = await startAuthorizing({ redirect: (to) => to.searchParams.set('iss', 'https://evil.example') });
  const data = await configured(server);
  const failed = await run(['login', 'far', '--data-dir', data], ({ address = '' }) => void server.visit(address));
  expect(failed.code).toBe(2);
  expect(await readdir(data)).not.toContain('mcp-logins');
  expect((await run(['login', 'nobody', '--data-dir', data])).code).toBe(2);
});
