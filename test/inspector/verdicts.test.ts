// The four verdicts: each says its own, and a head that the reader gives shows what a stream alone cannot.
import { beforeAll, describe, expect, test } from 'vitest';
import type { StreamRecord } from '../../schemas/record.ts';
import type { SessionId } from '../../schemas/ids.ts';
import { findCheckpointFault, newSigningKeys, signCheckpoint } from '../../src/audit/signature.ts';
import { mustBe } from '../../src/client/must.ts';
import { eventDigest, leafOf, nextChain, proveSession } from '../../src/core/index.ts';
import { findSignatureFault } from '../../inspector/folding/signature.ts';
import { chainAt, linesOf, recordsOf } from '../audit/records.ts';
import { type Asking, newAsking } from '../support/inspector.ts';
import { call, session } from '../support/session.ts';

const streamOf = (text: string): StreamRecord[] =>
  recordsOf(
    session({ session_id: 'kept' })
      .runRequested()
      .observed([call('a', 'free', { text })])
      .settled('a')
      .batchSettled()
      .answered('done'),
  );
const records = streamOf('one');
const EVENTS = records.length - 2;

let keys: ReturnType<typeof newSigningKeys>;
let other: ReturnType<typeof newSigningKeys>;
beforeAll(() => {
  keys = newSigningKeys();
  other = newSigningKeys();
});

async function opened(of: readonly StreamRecord[]): Promise<{ readonly asking: Asking; readonly source: number }> {
  const asking = newAsking();
  const { source } = await asking.ask('open', { kind: 'embedded', name: 'kept', text: linesOf(of) });
  return { asking, source };
}

const signed = (of: readonly StreamRecord[]) =>
  mustBe(signCheckpoint([leafOf(of)], { privatePem: keys.privatePem, created_at_ms: 5 }));

describe('a head', () => {
  test('of a chain value: right, wrong, cut off', async () => {
    const { asking, source } = await opened(records);
    const given = (chain: string, version?: number) =>
      asking.ask('giveHead', { source, head: { kind: 'chain', chain, ...(version === undefined ? {} : { version }) } });
    expect((await given(chainAt(records, EVENTS))).head).toMatchObject({ state: 'good', fault: null });
    expect((await given(chainAt(records, 3), 3)).head).toMatchObject({ state: 'good', checked: 3 });
    expect((await given(chainAt(records, 3))).head).toMatchObject({ state: 'bad', fault: { what: 'rewritten' } });
    expect((await given(chainAt(records, EVENTS), EVENTS + 2)).head).toMatchObject({
      state: 'bad',
      fault: { what: 'truncated', position: EVENTS },
    });
    expect((await asking.ask('giveHead', { source, head: null })).head).toMatchObject({ state: 'none', given: null });
    expect(await asking.refusal('giveHead', { source, head: { kind: 'chain', chain: 'sha256:x' } })).toMatchObject({
      code: 'invalid_shape',
    });
  });

  test('of a checkpoint, and of a proof of it, with the key of the reader and without', async () => {
    const checkpoint = signed(records);
    const proof = proveSession(checkpoint, 'kept' as SessionId);
    for (const file of [checkpoint, proof]) {
      const { asking, source } = await opened(records);
      const text = JSON.stringify(file);
      const trusted = { kind: 'checkpoint', text, public_key: keys.publicPem } as const;
      expect((await asking.ask('giveHead', { source, head: trusted })).head).toMatchObject({
        state: 'good',
        given: { trusted: true, version: EVENTS, signed_at_ms: 5 },
      });
      const alone = (await asking.ask('giveHead', { source, head: { kind: 'checkpoint', text } })).head;
      expect(alone).toMatchObject({ state: 'good', given: { trusted: false } });
      expect(alone.line).toContain('whose key is its own');
      const wrong = { kind: 'checkpoint', text, public_key: other.publicPem } as const;
      expect((await asking.ask('giveHead', { source, head: wrong })).head).toMatchObject({ state: 'bad' });
    }
  });

  test('shows that a stream was cut off, or written anew, which its chain does not', async () => {
    const checkpoint = JSON.stringify(signed(records));
    const cut = records.slice(0, -1);
    const anew = streamOf('two');
    for (const [of, what] of [
      [cut, 'truncated'],
      [anew, 'rewritten'],
    ] as const) {
      const { asking, source } = await opened(of);
      const verdicts = await asking.ask('giveHead', { source, head: { kind: 'checkpoint', text: checkpoint } });
      expect(verdicts).toMatchObject({
        chain: { state: 'good' },
        fold: { state: 'good' },
        head: { state: 'bad', fault: { what } },
      });
    }
  });

  test('has a signature that both implementations judge alike', async () => {
    const good = signed(records);
    const { head, signature, public_key } = good;
    const files = [
      good,
      { ...good, head: { ...head, created_at_ms: 6 as typeof head.created_at_ms } },
      { ...good, signature: `${signature.slice(0, 9)}${signature[9] === 'A' ? 'B' : 'A'}${signature.slice(10)}` },
      { ...good, public_key: `${public_key.slice(0, 9)}${public_key[9] === 'A' ? 'B' : 'A'}${public_key.slice(10)}` },
      { ...good, sessions: [] },
      { ...good, sessions: [...good.sessions, ...good.sessions] },
    ];
    for (const file of files) {
      for (const key of [undefined, keys.publicPem, other.publicPem, 'no key']) {
        expect(await findSignatureFault(file, key)).toEqual(findCheckpointFault(file, key));
      }
    }
  });
});

test('the chain and the fold stand alone', async () => {
  const last = records.length - 1;
  const chainOnly = records.map((record, at) =>
    at === last && record.kind === 'commit' ? { ...record, chain: chainAt(records, 1) } : record,
  );
  const { asking, source } = await opened(chainOnly);
  await asking.ask('alternatives', { source });
  expect(await asking.ask('verdicts', { source })).toMatchObject({
    chain: { state: 'bad', checked: EVENTS - 1, fault: { position: EVENTS - 1 } },
    fold: { state: 'good', checked: EVENTS },
  });

  // A writer of another state digest who links the chain anew: only the fold finds it, and the chain goes on.
  const wrong = relinked(records, 3);
  const second = await opened(wrong);
  await second.asking.ask('giveHead', {
    source: second.source,
    head: { kind: 'chain', chain: chainAt(wrong, EVENTS) },
  });
  await second.asking.refusal('state', { source: second.source, at: EVENTS, path: '', from: 0, limit: 1 });
  const { total } = await second.asking.ask('rows', { source: second.source, from: 0, limit: 50 });
  expect(total).toBe(EVENTS);
  expect(await second.asking.ask('verdicts', { source: second.source })).toMatchObject({
    chain: { state: 'good', checked: EVENTS, fault: null },
    fold: { state: 'bad', checked: 3, fault: { position: 3, what: 'state_digest' } },
  });
  const fault = { source: second.source, from: 0, direction: 'next', kinds: ['fault'] } as const;
  expect(await second.asking.ask('seekMark', fault)).toEqual({ position: 3 });
});

/** The records with another state digest at a position, and chain values that fit it. */
function relinked(of: readonly StreamRecord[], position: number): readonly StreamRecord[] {
  let chain = chainAt(of, 0);
  return of.map((record) => {
    if (record.kind !== 'commit') return record;
    const state_digest = record.position === position ? chainAt(of, 1) : record.state_digest;
    chain = nextChain(chain, record.events.map(eventDigest), state_digest);
    return { ...record, state_digest, chain };
  });
}
