// What a bridge reports of a call that it was asked to look at: one report, in time, whatever the tool does.
import { left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { newPreviewRunner } from '../../../bridge/calls/preview-runner.ts';
import { combineExecutors, type Preview } from '../../../bridge/index.ts';
import { failedReport } from '../../../bridge/executors/call-report.ts';
import { StopSwitch } from '../../../bridge/executors/stop-switch.ts';
import { createRedactor } from '../../../bridge/secrets/redactor.ts';
import type { EffectOfKind } from '../../../schemas/effect.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { PREVIEW_CHARS_MAX, PREVIEW_WORK_MS_MAX } from '../../../schemas/limits.ts';
import { brand, digestJson, digestText } from '../../../schemas/index.ts';
import { newVirtualClock } from '../../support/bridge/virtual-clock.ts';

const SECRET = 'correct-horse-battery';

const effect: EffectOfKind<'call.preview'> = {
  kind: 'call.preview',
  effect_id: brand('batch-1/a/1/preview'),
  session_id: brand('s-1'),
  batch_id: brand('batch-1'),
  call_id: brand('a'),
  attempt: 1,
  tool_id: brand('t.write'),
  tool_name: brand('write'),
  executor: { kind: 'effect', effect_kind: 't.write' },
  arguments_digest: digestJson({ path: 'a' }),
  arguments: { path: 'a' },
  until_ms: 30_000,
};

/** Runs one preview; what was reported, and whether the lease was ended. */
function world(preview: Preview | undefined, place?: { readonly workspace: string }) {
  const clock = newVirtualClock();
  const reported: Extract<Ingress, { kind: 'CallPreviewed' }>[] = [];
  let ended = 0;
  const stored: string[] = [];
  const runner = newPreviewRunner({
    executors: combineExecutors([
      {
        tools: ['t.*'],
        run: () => Promise.resolve(failedReport('none', 'it must not run')),
        ...(preview === undefined ? {} : { preview }),
        ...(place === undefined ? {} : { place }),
      },
    ]),
    leases: { end: () => (ended += 1) } as never,
    outbox: {
      report: (_session, event) => {
        reported.push(event as never);
        return Promise.resolve(right(undefined));
      },
    },
    readBlob: () => Promise.resolve(left({ code: 'unknown_blob', path: '', message: 'no such blob' })),
    putBlob: (bytes) => {
      stored.push(new TextDecoder().decode(bytes));
      return Promise.resolve(digestText(stored.at(-1) ?? ''));
    },
    redactor: createRedactor([SECRET]),
    clock,
    nonce: 'n',
    log: () => undefined,
  });
  const run = (given = effect, stop = new StopSwitch()): Promise<void> => runner.run(given, stop);
  return { clock, reported, stored, run, ended: () => ended };
}

const FILES = [{ path: 'a', before: null }];

describe('a bridge reports', () => {
  test('what the call would do, with the place where it would run, each time under another id', async () => {
    const { run, reported, ended } = world(() => ({ diff: '+x', files: FILES }), { workspace: '/ws' });
    await run();
    await run();
    expect(reported[0]).toMatchObject({
      kind: 'CallPreviewed',
      batch_id: 'batch-1',
      call_id: 'a',
      attempt: 1,
      arguments_digest: effect.arguments_digest,
      preview: { diff: { text: '+x' }, files: FILES },
      place: { workspace: '/ws' },
    });
    expect(reported.map(({ event_id }) => event_id)).toEqual([
      'batch-1/a/1/preview/previewed/n/1',
      'batch-1/a/1/preview/previewed/n/2',
    ]);
    expect(ended()).toBe(2);
  });

  test('a long diff as a blob, without secrets', async () => {
    const { run, reported, stored } = world(() => ({ diff: `+${SECRET}\n`.repeat(500), files: FILES }));
    await run();
    expect(reported[0]?.preview).toHaveProperty('diff.ref');
    expect(stored).toHaveLength(1);
    expect(stored[0]).not.toContain(SECRET);
  });

  test.each<[string, Preview | undefined, string]>([
    ['that its tool makes none', undefined, 'no_preview'],
    ['what the tool says instead', () => ({ code: 'not_found', message: 'no such file' }), 'not_found'],
    [
      'that the tool threw',
      () => {
        throw new Error(`broken by ${SECRET}`);
      },
      'preview_failed',
    ],
    ['that the tool answers nonsense', () => ({ files: 7 }) as never, 'preview_invalid'],
    ['that the diff is too long', () => ({ diff: 'x'.repeat(PREVIEW_CHARS_MAX + 1), files: FILES }), 'preview_invalid'],
    ['that a path holds a secret', () => ({ diff: '+x', files: [{ path: SECRET, before: null }] }), 'secret'],
  ])('%s', async (_, preview, code) => {
    const { run, reported } = world(preview);
    await run();
    expect(reported).toHaveLength(1);
    expect(reported[0]?.preview).toMatchObject({ code });
    expect(JSON.stringify(reported)).not.toContain(SECRET);
  });

  test('that the arguments are others than were asked about, or cannot be read', async () => {
    const { run, reported } = world(() => ({ diff: '+x', files: FILES }));
    await run({ ...effect, arguments: { path: 'b' } });
    const { arguments: _inline, ...stored } = effect;
    await run({ ...stored, arguments_ref: { ref: digestText('x'), bytes: 1, head: '', tail: '' } });
    expect(reported.map(({ preview }) => 'code' in preview && preview.code)).toEqual([
      'plan_mismatch',
      'arguments_missing',
    ]);
  });

  test('in time that a tool takes too long', async () => {
    const { run, reported, clock } = world(() => new Promise(() => undefined));
    void run();
    await clock.until(() => reported.length > 0, PREVIEW_WORK_MS_MAX + 1);
    expect(reported[0]?.preview).toMatchObject({ code: 'timeout' });
  });

  test('nothing when it stops: the preview stays owed', async () => {
    const { run, reported, ended } = world(() => new Promise(() => undefined));
    const stop = new StopSwitch();
    const done = run(effect, stop);
    await Promise.resolve();
    stop.stop('stopping');
    await done;
    expect([reported.length, ended()]).toEqual([0, 0]);
  });
});
