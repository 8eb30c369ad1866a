// Databases that no engine may write to are refused before anything is written, with what to do, and never with a password.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { isRight } from 'fp-ts/lib/Either.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionId } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { must } from '../../src/client/must.ts';
import { backgroundClock } from '../../src/clock.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { postgresAddress } from '../../src/postgres/address.ts';
import { type PostgresStores, initPostgres, openPostgresStores } from '../../src/postgres/postgres-stores.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import { commitAt, createSample, eventId, idleHead, readIds, session } from '../support/journal/samples.ts';
import { startCluster } from '../support/postgres/cluster.ts';
import {
  type Server,
  createDatabase,
  describeCluster,
  describePostgres,
  openServer,
  requireBinaries,
} from '../support/postgres/database.ts';
import { closeStores, openStores } from '../support/postgres/stores.ts';

const refusedAt = (url: string): Promise<Rejection> =>
  refusal(openPostgresStores(url, { clock: backgroundClock, onWrite: () => undefined }));

describePostgres('a database', () => {
  let server: Server;
  beforeAll(async () => {
    server = await openServer();
  }, 120_000);
  afterAll(() => server.stop());

  test('gets its schema once, and an engine opens over it', async () => {
    const database = await createDatabase(server, { init: false });
    expect((await refusedAt(database.url)).message).toContain('refold journal init');
    expect(await must(initPostgres(database.url))).toBe(true);
    expect(await must(initPostgres(database.url))).toBe(false);
    const engine = await must(openEngine({ journal: database.url }));
    expect(isRight(await engine.ready())).toBe(true);
    await engine.close();
    await database.drop();
  });

  test.each<[string, string]>([
    ['UPDATE refold.meta SET version = 2', 'version 2'],
    ['DROP TABLE refold.meta', 'not of refold'],
  ])('of another version is refused: %s', async (change, message) => {
    const database = await createDatabase(server);
    await database.query(change);
    expect((await refusedAt(database.url)).message).toContain(message);
    expect((await refusal(initPostgres(database.url))).message).toContain(message);
    await database.drop();
  });

  test('whose encoding is not UTF8 is refused', async () => {
    const database = await createDatabase(server, { init: false, encoding: 'SQL_ASCII' });
    expect((await refusal(initPostgres(database.url))).message).toContain('--encoding UTF8');
    await database.drop();
  });

  test('that is refused ends refold serve with 2, and with what to do', async () => {
    const database = await createDatabase(server, { init: false });
    const directory = await mkdtemp(join(tmpdir(), 'refold-serve-'));
    const stderr = new PassThrough();
    const args = ['serve', '--journal', database.url, '--data-dir', directory, '--port', '0'];
    expect(await runCommandLine(args, { stdout: new PassThrough(), stderr })).toBe(2);
    expect(String(stderr.read())).toContain('refold journal init --journal URL');
    expect(await runCommandLine(['journal', 'init', '--journal', database.url], { stdout: stderr, stderr })).toBe(0);
    await rm(directory, { recursive: true });
    await database.drop();
  });

  test('whose commits do not wait for the disk is refused', async () => {
    const database = await createDatabase(server);
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
    expect((await refusedAt(database.url)).message).toContain('synchronous_commit off');
    await database.drop();
  });

  test('that another engine owns is refused, and given up at once when that engine closes', async () => {
    const database = await createDatabase(server);
    const first = await openStores(database.url);
    const second = refusedAt(database.url);
    expect((await second).code).toBe('in_use');
    expect(await outcome(createSample(first.journal, session('still-served')))).toBe('done');
    const third = openStores(database.url);
    await closeStores(first);
    await closeStores(await third);
    await database.drop();
  }, 60_000);

  test('that cannot be reached is named without its password', async () => {
    const refused = await refusedAt('postgres://me:sekret@127.0.0.1:1/db');
    expect(refused).toMatchObject({ code: 'storage_failed', message: expect.stringContaining('me@127.0.0.1:1/db') });
    expect(JSON.stringify(refused)).not.toContain('sekret');
  });
});

describe('the URL of a journal', () => {
  test.each<[string, object]>([
    ['postgres://u:p%40@db.example/x', { host: 'db.example', port: 5_432, user: 'u', password: 'p@', isLocal: false }],
    ['postgresql://[::1]:6000/x', { host: '::1', port: 6_000, isLocal: true }],
    ['postgres://127.0.0.9/x?sslmode=disable', { host: '127.0.0.9', isLocal: true }],
    ['postgres:///x?host=/run/postgresql', { host: '/run/postgresql', database: 'x', isLocal: true }],
    ['postgres://db.example/x?sslrootcert=/ca.pem', { rootCertificate: '/ca.pem', isLocal: false }],
  ])('%s', (url, expected) => {
    const address = postgresAddress(url);
    expect(address).toMatchObject({ _tag: 'Right', right: expected });
    expect(isRight(address) && address.right.shown).not.toContain('p@');
  });

  test.each([
    'mysql://db.example/x',
    'postgres://db.example',
    'postgres://db.example/x?sslmode=require',
    'postgres://db.example/x?sslmode=disable',
    'postgres://db.example/x?options=-csynchronous_commit=off',
    'postgres://u:%zz@db.example/x',
  ])('%s is refused', (url) => {
    expect(postgresAddress(url)).toMatchObject({ _tag: 'Left', left: { code: 'invalid_shape', path: '/journal' } });
  });
});

async function isRecorded({ journal }: PostgresStores, id: SessionId, event: string): Promise<boolean> {
  for (;;) {
    const found = await journal.find(id, eventId(event))();
    if (isRight(found)) return found.right !== null;
  }
}

describeCluster('a server of its own', () => {
  test.each(['fsync', 'full_page_writes'])(
    'with %s off is refused',
    async (setting) => {
      const cluster = await startCluster(requireBinaries(), [`${setting} = off`]);
      const refused = await refusal(initPostgres(cluster.url('postgres')));
      expect(refused.message).toContain(`${setting} off`);
      await cluster.stop();
    },
    60_000,
  );

  test('that is a standby is refused, with the primary named as what to do', async () => {
    const cluster = await startCluster(requireBinaries());
    await must(initPostgres(cluster.url('postgres')));
    await cluster.makeStandby();
    for (const refused of [
      await refusal(initPostgres(cluster.url('postgres'))),
      await refusedAt(cluster.url('postgres')),
    ]) {
      expect(refused.message).toContain('is a standby, which takes no writes; name the primary');
    }
    await cluster.stop();
  }, 60_000);

  test('that stops as in a power cut loses no acknowledged event, and its engine goes on', async () => {
    const cluster = await startCluster(requireBinaries());
    const database = await createDatabase({ ...cluster });
    const stores = await openStores(database.url);
    const ids = Array.from({ length: 20 }, (_, n) => session(`s${n}`));
    await Promise.all(ids.map((id) => must(createSample(stores.journal, id))));
    const kept = new Map(ids.map((id) => [id, [] as string[]]));
    let restarted = false;
    const write = async (id: (typeof ids)[number]): Promise<void> => {
      const acknowledged = kept.get(id) ?? [];
      for (let nth = 0, after = 0; after < 5; nth += 1) {
        const event = `${id}-${nth}`;
        if (restarted) after += 1;
        const answer = await outcome(stores.journal.append(id, [commitAt(acknowledged.length, event)], idleHead));
        // The look-up of an append in doubt is asked until the server answers again.
        const recorded = answer === 'done' || (answer === 'storage_unknown' && (await isRecorded(stores, id, event)));
        if (recorded) acknowledged.push(event);
      }
    };
    const writing = Promise.all(ids.map(write));
    await cluster.restart('immediate');
    restarted = true;
    await writing;
    for (const id of ids) {
      expect(await readIds(stores.journal, id)).toEqual(kept.get(id));
      expect(kept.get(id)?.length).toBeGreaterThan(4);
    }
    await closeStores(stores);
    await cluster.stop();
  }, 120_000);
});
