// Token files: who may read them, what they allow, and that a running server follows each change.
import { chmod, chown, readFile, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { INGRESS_KINDS } from '../../schemas/event.ts';
import { TOKENS_MAX } from '../../schemas/limits.ts';
import { connect } from '../../src/client/http-client.ts';
import { must } from '../../src/client/must.ts';
import { readToken, tokenDirectory, tokenFile } from '../../src/client/token-file.ts';
import { serve } from '../../src/server/serve.ts';
import { createToken, ensureTokens, listTokens, revokeToken, rotateToken } from '../../src/server/token-store.ts';
import { openTokens } from '../../src/server/tokens.ts';
import { SESSION, ingress, newWorld, packageOf } from '../support/engine/world.ts';
import { PERSON, tool } from '../support/tools.ts';
import { fillDisk, mountSmallDisk } from '../support/journal/small-disk.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const read = (directory: string, name: string): Promise<string> => readToken(tokenFile(directory, name));

describe('the token files', () => {
  test('are created once, one for each scope, readable by their owner only', async () => {
    await inTemporaryDirectory(async (directory) => {
      const tokens = await openTokens(directory);
      expect((await readdir(tokenDirectory(directory))).sort()).toEqual(['bridge', 'operator', 'viewer']);
      expect((await stat(tokenDirectory(directory))).mode & 0o777).toBe(0o700);
      for (const scope of ['operator', 'bridge', 'viewer'] as const) {
        const token = await read(directory, scope);
        expect(token).toMatch(/^[0-9a-f]{64}$/);
        expect((await stat(tokenFile(directory, scope))).mode & 0o777).toBe(0o600);
        expect(tokens.find(token)?.access).toEqual({ scope });
        await openTokens(directory);
        expect(await read(directory, scope)).toBe(token);
      }
    });
  });

  test('what a killed process left of one goes with the next start, once no process can still write it', async () => {
    await inTemporaryDirectory(async (directory) => {
      await ensureTokens(directory);
      const [old, fresh, foreign] = ['.0123456789abcdef', '.fedcba9876543210', '.keep'];
      for (const name of [old, fresh, foreign]) await writeFile(tokenFile(directory, name), '0123', { mode: 0o600 });
      const hourAgo = new Date(Date.now() - 3_600_000);
      for (const name of [old, foreign]) await utimes(tokenFile(directory, name), hourAgo, hourAgo);
      await createToken(directory, 'app', { scope: 'viewer' });
      const left = (await readdir(tokenDirectory(directory))).sort();
      expect(left).toEqual([fresh, foreign, 'app', 'bridge', 'operator', 'viewer'].sort());
      expect((await listTokens(directory)).map(({ name }) => name)).toEqual(['app', 'bridge', 'operator', 'viewer']);
    });
  });

  test('on a full disk are not created, and nothing stays of them; that the disk is full is what is said', async (context) => {
    const disk = await mountSmallDisk('1m');
    if ('reason' in disk) {
      context.skip(disk.reason);
      return;
    }
    try {
      await ensureTokens(disk.directory);
      await fillDisk(disk.directory);
      await expect(createToken(disk.directory, 'app', { scope: 'viewer' })).rejects.toThrow('ENOSPC');
      await expect(rotateToken(disk.directory, 'viewer')).rejects.toThrow('ENOSPC');
      expect((await readdir(tokenDirectory(disk.directory))).sort()).toEqual(['bridge', 'operator', 'viewer']);
      expect(await read(disk.directory, 'viewer')).toMatch(/^[0-9a-f]{64}$/);
    } finally {
      await disk.unmount();
    }
  });

  test('are the same for all processes that start at the same time', async () => {
    await inTemporaryDirectory(async (directory) => {
      await Promise.all(Array.from({ length: 8 }, () => ensureTokens(directory)));
      expect(await readdir(tokenDirectory(directory))).toHaveLength(3);
    });
  });

  test.each([0o640, 0o604, 0o660, 0o601, 0o700])('of the mode %o are refused, with how to mend it', async (mode) => {
    await inTemporaryDirectory(async (directory) => {
      const tokens = await openTokens(directory);
      const [path, token] = [tokenFile(directory, 'bridge'), await read(directory, 'bridge')];
      await chmod(path, mode);
      await expect(readToken(path)).rejects.toThrow(`run: chmod 600 ${path}`);
      await expect(openTokens(directory)).rejects.toThrow(`run: chmod 600 ${path}`);
      expect(tokens.find(token)).toBeNull();
      await chmod(path, 0o600);
      expect(tokens.find(token)?.access.scope).toBe('bridge');
    });
  });

  test('that others may replace are refused, with how to mend it', async ({ skip }) => {
    await inTemporaryDirectory(async (directory) => {
      await ensureTokens(directory);
      const tokens = tokenDirectory(directory);
      await chmod(tokens, 0o770);
      await expect(openTokens(directory)).rejects.toThrow(`run: chmod go-w ${tokens}`);
      await chmod(tokens, 0o755);
      await openTokens(directory);
      if (process.getuid?.() !== 0) skip('only root can give a file to another user');
      const token = await read(directory, 'operator');
      const known = await openTokens(directory);
      await chown(tokenFile(directory, 'operator'), 65_534, 65_534);
      expect(known.find(token)).toBeNull();
      await expect(openTokens(directory)).rejects.toThrow(/belongs to the user 65534, .*run: chown 0 /);
      await chown(tokenFile(directory, 'operator'), 0, 0);
      await chown(tokens, 65_534, 65_534);
      await expect(openTokens(directory)).rejects.toThrow(/belongs to the user 65534/);
    });
  });

  test('that are links, or empty, are refused', async () => {
    await inTemporaryDirectory(async (directory) => {
      await ensureTokens(directory);
      await symlink(tokenFile(directory, 'operator'), tokenFile(directory, 'linked'));
      await expect(openTokens(directory)).rejects.toThrow(/is not a regular file/);
      await writeFile(tokenFile(directory, 'bridge'), '\n');
      await expect(read(directory, 'bridge')).rejects.toThrow(/contains no token/);
    });
  });
});

describe('a running server', () => {
  test('refuses the old token at once when it is replaced, removed or edited', async () => {
    await inTemporaryDirectory(async (directory) => {
      const tokens = await openTokens(directory);
      const before = await read(directory, 'operator');
      const holder = tokens.find(before);
      await rotateToken(directory, 'operator');
      expect([tokens.find(before), holder?.isCurrent()]).toEqual([null, false]);
      expect(tokens.find(await read(directory, 'operator'))?.access).toEqual({ scope: 'operator' });
      await createToken(directory, 'shop', { scope: 'viewer' });
      const shop = await read(directory, 'shop');
      expect(tokens.find(shop)?.access).toEqual({ scope: 'viewer', name: 'shop' });
      await revokeToken(directory, 'shop');
      expect(tokens.find(shop)).toBeNull();
      const viewer = await read(directory, 'viewer');
      await writeFile(tokenFile(directory, 'viewer'), 'another-token\n');
      expect([tokens.find(viewer), tokens.find('another-token')?.access.scope]).toEqual([null, 'viewer']);
    });
  });

  test('takes no token, and ends what one follows, while others may write the directory', async () => {
    await inTemporaryDirectory(async (directory) => {
      const tokens = await openTokens(directory);
      const token = await read(directory, 'operator');
      const holder = tokens.find(token);
      await chmod(tokenDirectory(directory), 0o777);
      expect([tokens.find(token), holder?.isCurrent()]).toEqual([null, false]);
      const added = await read(directory, 'viewer');
      expect(tokens.find(added)).toBeNull();
      await chmod(tokenDirectory(directory), 0o700);
      expect(tokens.find(token)?.isCurrent()).toBe(true);
    });
  });

  test('ends what an old token follows', async () => {
    await inTemporaryDirectory(async (directory) => {
      const { talk, engine } = await newWorld();
      await talk.create();
      const serving = await serve(engine.client, { tokens: await openTokens(directory), port: 0 });
      const client = connect(serving.url, await read(directory, 'viewer'));
      const events = client.follow(SESSION)[Symbol.asyncIterator]();
      const first = events.next();
      await talk.run();
      expect((await first).value).toMatchObject({ event: { kind: 'RunRequested' } });
      await rotateToken(directory, 'viewer');
      const next = events.next();
      await talk.submit([{ kind: 'RunPaused', run_id: 'run-1' }]);
      await expect(next).rejects.toMatchObject({ rejection: { code: 'unauthorized' } });
      await client.close();
      await serving.close();
      await engine.close();
    });
  });
});

describe('a further token', () => {
  test.each([
    ['operator', { scope: 'operator' }, /is that of a scope/],
    ['../up', { scope: 'viewer' }, /is no name of a token/],
    ['.hidden', { scope: 'viewer' }, /is no name of a token/],
    ['late', { scope: 'operator', kinds: ['LeaseExpired'] }, /reported by the engine alone/],
    ['bridge-2', { scope: 'bridge', kinds: ['ToolCallSettled'] }, /only an operator token/],
    ['wide', { scope: 'operator', tools: ['shop.*'] }, /needs the kinds that answer a call/],
    ['mixed', { scope: 'operator', kinds: ['RunRequested'], tools: ['a'] }, /needs the kinds that answer a call/],
  ] as const)('%s is refused', async (name, access, why) => {
    await inTemporaryDirectory(async (directory) => {
      await expect(createToken(directory, name, access)).rejects.toThrow(why);
    });
  });

  test('is one of a bounded number, and listed without the token', async () => {
    await inTemporaryDirectory(async (directory) => {
      for (let n = 3; n < TOKENS_MAX; n += 1) await createToken(directory, `t-${n}`, { scope: 'viewer' });
      await expect(createToken(directory, 'more', { scope: 'viewer' })).rejects.toThrow(/no more are kept/);
      await expect(createToken(directory, 't-3', { scope: 'viewer' })).rejects.toThrow(/already|no more/);
      const listed = JSON.stringify(await listTokens(directory));
      for (const name of await readdir(tokenDirectory(directory)))
        expect(listed).not.toContain((await readFile(join(tokenDirectory(directory), name), 'utf8')).split('\n')[0]);
    });
  });
});

describe('a token for custom calls of some tools', () => {
  test('answers these calls in its own name, and can do no more', async () => {
    await inTemporaryDirectory(async (directory) => {
      const { talk, engine } = await newWorld();
      const other = tool('other', { ownership: 'custom', executor: { kind: 'custom' } });
      await talk.create(packageOf([PERSON, other]));
      const { active_tool_batch } = await talk.calls(['mine', 'person'], ['theirs', 'other']);
      await createToken(directory, 'shop', { scope: 'operator', kinds: ['user.custom_tool_result'], tools: ['pers*'] });
      const serving = await serve(engine.client, { tokens: await openTokens(directory), port: 0 });
      const client = connect(serving.url, await read(directory, 'shop'));
      const answer = (call_id: string) => {
        const planned = active_tool_batch?.plan.planned_calls.find((call) => call.call_id === call_id);
        const { arguments_digest = '' } = planned ?? {};
        const result = { result: { success: true }, output: { text: 'done' }, by: 'somebody-else' };
        return ingress({ kind: 'user.custom_tool_result', batch_id: 'batch-1', call_id, arguments_digest, ...result });
      };
      const codeOf = async (asked: Promise<unknown>): Promise<unknown> =>
        ((await asked) as { left?: { code: string } }).left?.code ?? 'done';
      expect(await codeOf(client.submit(SESSION, { events: [answer('theirs')] })())).toBe('forbidden_scope');
      expect(await codeOf(client.submit(SESSION, { events: [answer('mine'), answer('theirs')] })())).toBe(
        'forbidden_scope',
      );
      for (const kind of INGRESS_KINDS.filter((known) => known !== 'user.custom_tool_result'))
        expect([kind, await codeOf(client.submit(SESSION, { events: [{ kind } as never] })())]).toEqual([
          kind,
          'forbidden_scope',
        ]);
      expect(await codeOf(client.createSession()())).toBe('forbidden_scope');
      expect(await codeOf(client.fork(SESSION)())).toBe('forbidden_scope');
      const wanted = { owner: 'shop' as never, kinds: ['tool.call'] as const, tools: ['*'], max: 1, wait_ms: 0 };
      expect(await codeOf(client.lease(wanted)())).toBe('forbidden_scope');
      const event = { ...answer('mine'), event_id: 'answer-1' as never };
      await must(client.submit(SESSION, { events: [event] }));
      const again = await must(client.submit(SESSION, { events: [event] }));
      expect(again.events).toMatchObject([{ repeated: true }]);
      const recorded = await must(client.records(SESSION, 2));
      expect(JSON.stringify(recorded)).toContain('"by":"shop"');
      expect(JSON.stringify(recorded)).not.toContain('somebody-else');
      await client.close();
      await serving.close();
      await engine.close();
    });
  });
});
