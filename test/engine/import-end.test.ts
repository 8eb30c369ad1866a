// An imported session has what was recorded as a prefix, and nothing that was decided there has an effect here.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { defineTool } from '../../schemas/index.ts';
import type { CommitRecord, StreamRecord } from '../../schemas/record.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../../schemas/state.ts';
import { callStateAt } from '../../reducers/batch-index.ts';
import { must } from '../../src/client/must.ts';
import { effects } from '../../src/core/index.ts';
import { importStream } from '../../src/engine/sessions/import-stream.ts';
import { loadSession } from '../../src/engine/sessions/load-session.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { defaultToolPackage } from '../../src/toolsets/default-package.ts';
import { neverPause } from '../../src/turns.ts';
import { type Disk, newDisk } from '../support/engine/disk.ts';
import { recordStream, recordsOf } from '../support/engine/stored-stream.ts';
import { SESSION } from '../support/engine/world.ts';
import { readAll } from '../support/journal/samples.ts';
import { CONSENT_TOOLS, asking, calling } from '../support/consent.ts';
import { type Session, call, session } from '../support/session.ts';

const AT_MS = 5_000_000;

async function* inTurn<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

const importOf = (disk: Disk, records: readonly StreamRecord[]) =>
  importStream({ ...disk.ports(), own_facts_at_ms: AT_MS }, inTurn(records));

async function stateOf(disk: Disk, id = SESSION) {
  const loaded = await loadSession(disk.journal, neverPause, id);
  if (isLeft(loaded)) throw new Error(loaded.left.message);
  return loaded.right.state;
}

const HOST = { host_session_id: 'h', host_session_status: 'ready', workspace: '/w', sandbox: 'none' } as const;
const ORIGIN = session({ session_id: SESSION, consent: CONSENT_PRESETS.allow_all }).takes('HostSessionUpdated', {
  host_session: HOST,
});
const ran = (of: Session): readonly StreamRecord[] => recordsOf(recordStream(of, of.events));
const kindsOf = (state: SessionState): readonly string[] => effects(state).map(({ kind }) => kind);

const CALLS = ['once', 'free', 'hosted', 'asks', 'person'].map((name) => call(name, name));

describe('an import of a session that was left in the middle', () => {
  test('makes none of the calls that were owed, keeps its questions, and its run waits to be resumed', async () => {
    const disk = newDisk();
    const left = ORIGIN.runRequested()
      .observed([...CALLS, call('again', 'free')])
      .started('again');
    expect(kindsOf(left.state)).toContain('tool.call');
    const imported = await importOf(disk, ran(left));
    expect(imported).toMatchObject({ right: { own_facts: 9, version: left.state.version + 9 } });
    const state = await stateOf(disk);
    expect(state.run?.phase).toBe('paused_executing');
    expect(kindsOf(state)).toEqual(['agent.tool_use']);
    const batch = state.active_tool_batch as ActiveToolBatch;
    const codes = batch.observed.map((_of, position) => {
      const { status, code } = callStateAt(batch, position) as CallState;
      return [status, code];
    });
    const cancelled = ['cancelled', 'imported'];
    const failed = ['failed', 'tool_failed'];
    expect(codes).toEqual([cancelled, cancelled, cancelled, ['waiting', null], failed, cancelled]);
    expect(state.tool_runtime_context.host_session_status).toBe('closed');
  });

  test('asks no model before it is resumed', async () => {
    const disk = newDisk();
    const left = ORIGIN.runRequested();
    expect(kindsOf(left.state)).toEqual(['llm.generate']);
    await importOf(disk, ran(left));
    const state = await stateOf(disk);
    expect([state.run?.phase, kindsOf(state)]).toEqual(['paused_generating', []]);
  });

  test('ends a run whose changed calls a person approved there', async () => {
    const disk = newDisk();
    const asked = ORIGIN.runRequested().observed([call('asks', 'asks'), call('free', 'free')]);
    const left = asked.denied('asks', { instead: call('changed', 'asks', { other: true }) });
    expect(left.state.run?.amended).toHaveLength(1);
    await importOf(disk, ran(left));
    const state = await stateOf(disk);
    expect([state.run, kindsOf(state)]).toEqual([null, []]);
    expect(state.run_history.at(-1)?.ending.outcome).toBe('cancelled');
  });
});

describe('what a person allowed there', () => {
  const HAND = defineTool({
    tool_id: 'hand',
    tool_name: 'hand',
    description: 'By hand.',
    input_schema: {},
    permission_policy: 'always_ask',
    ownership: 'custom',
    executor: { kind: 'custom' },
    parallelism_hint: {
      parallel_safe: true,
      claims: [{ space: 'fs', argument: 'path', form: 'path', access: 'write' }],
    },
  });
  const asked = calling(
    asking({}, {}, [...CONSENT_TOOLS, HAND]),
    call('w', 'asks_write', { path: 'x' }),
    call('h', 'hand', { path: 'x' }),
  );

  test('is asked of no application, also when it waits for a question: the run ends', async () => {
    for (const [of, due] of [
      [asked, ['agent.tool_use', 'agent.tool_use']],
      [asked.allowed('h'), []],
    ] as const) {
      const disk = newDisk();
      const imported = await importOf(disk, ran(of));
      expect(imported._tag).toBe('Right');
      const state = await stateOf(disk, of.state.session_id);
      expect(kindsOf(state)).toEqual(due);
      expect(state.run_history.at(-1)?.ending.message ?? null).toBe(
        due.length > 0
          ? null
          : 'The session was imported, and where it was recorded a person had allowed a call that was not made yet.',
      );
    }
  });

  test('is not made when its next attempt waits for a time', async () => {
    const disk = newDisk();
    const began = ORIGIN.runRequested()
      .observed([call('free', 'free')])
      .started('free');
    const failed = began.settlementFields('free', { outcome: 'failed' });
    const waits = began.takes('ToolCallSettled', { ...failed, retryable: true, jitter_permille: 1_000 });
    expect(kindsOf(waits.state)).toEqual(['wake']);
    expect((await importOf(disk, ran(waits)))._tag).toBe('Right');
    const batch = (await stateOf(disk)).active_tool_batch as ActiveToolBatch;
    expect(callStateAt(batch, 0)).toMatchObject({ status: 'cancelled', code: 'imported' });
  });
});

describe('consent after an import', () => {
  test('is that of the preset, without grants, and every tool that refold does not define itself asks', async () => {
    const disk = newDisk();
    const grants = ORIGIN.runRequested()
      .observed([call('asks', 'asks')])
      .allowed('asks', { grant: {} });
    expect(grants.state.consent.grants).toHaveLength(1);
    await importOf(disk, ran(grants.settled('asks').batchSettled().completed()));
    const { consent, tool_registry } = await stateOf(disk);
    expect(consent.grants).toEqual([]);
    expect(consent.policy.modes).toEqual(CONSENT_PRESETS.default.modes);
    expect(Object.values(consent.policy.tools)).toEqual(Object.keys(tool_registry).map(() => 'always_ask'));
  });

  test.each([
    ['allow_all', 'default'],
    ['default', 'default'],
    ['read_only', 'read_only'],
    ['careful', 'careful'],
  ] as const)('of a session with the tools of refold: %s becomes %s', async (recorded, own) => {
    const disk = newDisk();
    const tool_package = defaultToolPackage();
    const origin = session({ session_id: SESSION, tool_package, consent: CONSENT_PRESETS[recorded] });
    await importOf(disk, ran(origin.runRequested().answered('done')));
    expect((await stateOf(disk)).consent.policy).toEqual(CONSENT_PRESETS[own]);
  });

  test('lets no session call a shell harmless', async () => {
    const disk = newDisk();
    const { registry, ...rest } = defaultToolPackage();
    const tools = registry.map((tool) => {
      if (tool.tool_id !== 'host.exec') return tool;
      return defineTool({ ...tool, mode: 'read', read_only: true, destructive: false });
    });
    const origin = session({ session_id: SESSION, tool_package: { registry: tools, ...rest } });
    await importOf(disk, ran(origin));
    expect((await stateOf(disk)).consent.policy.tools).toEqual({ 'host.exec': 'always_ask' });
  });
});

describe('what an import adds', () => {
  const left = ORIGIN.runRequested().observed(CALLS);

  test('follows the stream, which stays a prefix of the session', async () => {
    const disk = newDisk();
    await importOf(disk, ran(left));
    const stored = await readAll(disk.journal, SESSION);
    const records = ran(left).filter((record) => record.kind === 'commit');
    expect(stored.slice(0, records.length).map(({ chain }) => chain)).toEqual(records.map(({ chain }) => chain));
    const own = stored.slice(records.length).flatMap(({ events }) => events.map(({ event_id }) => event_id));
    expect(own.length).toBeGreaterThan(0);
    expect(own.every((id) => id.startsWith('import-'))).toBe(true);
  });

  test('is stored with the last of the stream in one write, so that no crash leaves the run active', async () => {
    for (let fails = 1; fails <= 3; fails += 1) {
      const disk = newDisk();
      disk.fault = ({ name, nth }) => (name === 'append' && nth >= fails ? 'full' : null);
      await importOf(disk, ran(left));
      disk.fault = () => null;
      const { sessions } = await must(disk.journal.sessions({ limit: 10, owing: true }));
      expect(sessions).toEqual([]);
      await importOf(disk, ran(left));
      expect((await stateOf(disk)).run?.phase).toBe('paused_executing');
    }
  });

  test('is added once: the same file, and a longer one, are refused', async () => {
    const disk = newDisk();
    await importOf(disk, ran(left));
    const { version } = await stateOf(disk);
    for (const records of [ran(left), ran(left.settled('free')), ran(left).slice(0, -1)]) {
      expect(await importOf(disk, records)).toMatchObject({ left: { code: 'session_exists' } });
    }
    expect((await stateOf(disk)).version).toBe(version);
  });

  test('is nothing for a session that has ended and allows no more than the preset', async () => {
    const disk = newDisk();
    const origin = session({
      session_id: SESSION,
      tool_package: defaultToolPackage(),
      consent: CONSENT_PRESETS.default,
    });
    const ended = origin.runRequested().answered('done');
    expect(await importOf(disk, ran(ended))).toMatchObject({ right: { own_facts: 0, version: ended.state.version } });
  });

  test('is missing after a stream that does not verify, so that what is stored of it is not loaded', async () => {
    const disk = newDisk();
    const records = ran(left);
    const last = records.at(-1) as CommitRecord;
    const damaged = [...records.slice(0, -1), { ...last, state_digest: last.chain }];
    expect(await importOf(disk, damaged)).toMatchObject({ left: { code: 'damaged' } });
    await expect(stateOf(disk)).rejects.toThrow(`refold delete ${SESSION}`);
    const { owing, card } = await must(disk.journal.head(SESSION));
    expect([owing, card.status]).toEqual([false, 'incomplete']);
    expect(await importOf(disk, records)).toMatchObject({ right: { continued: true } });
    const state = await stateOf(disk);
    expect([state.run?.phase.startsWith('paused_'), kindsOf(state)]).toEqual([true, ['agent.tool_use']]);
  });

  test('is nothing as recorded', async () => {
    const disk = newDisk();
    await importStream({ ...disk.ports(), own_facts_at_ms: null }, inTurn(ran(left)));
    expect(await stateOf(disk)).toEqual(left.state);
  });
});
