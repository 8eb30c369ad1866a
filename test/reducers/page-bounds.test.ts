// A page of the conversation and the claims of a batch are bounded in size, not only in number: a session can always end.
import { describe, expect, test } from 'vitest';
import { type SessionState, type ToolCallObserved, type TranscriptEntry, brand, limits } from '../../schemas/index.ts';
import { claimsWithin, claimsOf, newClaimRoom } from '../../reducers/claims.ts';
import { planBatch } from '../../reducers/planner.ts';
import { freezeJson } from '../../schemas/json.ts';
import { type Session, call, recorded, session } from '../support/session.ts';
import { profileOf, tool } from '../support/tools.ts';

const { CLAIM_CHARS_PER_BATCH_MAX, TRANSCRIPT_PAGE_CHARS } = limits;

/** Calls of an unknown tool are refused at once, so that a turn with them is one entry and its refusals. */
const turnOf = (chars: number, turn: number): readonly ToolCallObserved[] =>
  Array.from({ length: Math.ceil(chars / 4_000) }, (_, index) =>
    call(`c${turn}-${index}`, 'nowhere', { text: 'x'.repeat(3_900) }),
  );

const charsIn = ({ state }: Session): number => JSON.stringify(state.transcript.open).length;

/** The page that the next event seals. */
function sealedBy(state: SessionState, event: Parameters<typeof recorded>[1]): { text: string; state: SessionState } {
  const next = recorded(state, event);
  return { text: next.sealed?.text ?? '', state: next.state };
}

const rolesIn = (text: string): readonly string[] =>
  (JSON.parse(text) as { readonly entries: readonly TranscriptEntry[] }).entries.map(({ role }) => role);

describe('the open page', () => {
  test('is sealed before it has 64 entries when its entries are long, in whole turns', () => {
    let run = session().runRequested({ turns_max: 60, calls_max: 9_999, repeats_max: 900 });
    let sealed = 0;
    for (let turn = 1; turn <= 8; turn += 1) {
      run = run.observed(turnOf(300_000, turn));
      if (run.state.active_tool_batch !== null) run = run.batchDone();
      sealed = run.state.transcript.sealed.length;
      expect(charsIn(run)).toBeLessThan(TRANSCRIPT_PAGE_CHARS + 400_000);
    }
    expect(sealed).toBeGreaterThanOrEqual(2);
    expect(run.state.transcript.open[0]?.role).not.toBe('tool');
    expect(run.state.transcript.count).toBe(1 + 8 * (1 + turnOf(300_000, 1).length));
  });

  test('of a state that is longer, as bounds by number allowed, is sealed in parts; the run can be cancelled or interrupted', () => {
    const run = session().runRequested();
    const state = overlong(run.state);
    for (const ending of ['RunCancelled', 'user.interrupt'] as const) {
      const first = sealedBy(state, run.next(ending, { run_id: run.runId(), reason: 'stop' }));
      expect(first.state.run).toBeNull();
      expect(rolesIn(first.text)).toEqual(['user']);
      const pages: string[] = [];
      let now = first.state;
      while (now.transcript.open.length > 0 && pages.length < TURNS) {
        const next = recorded(now, run.next('SessionConfigured', { config: {} }));
        pages.push(next.sealed?.text ?? '');
        now = next.state;
      }
      expect(pages.map(rolesIn)).toEqual(Array.from({ length: TURNS }, () => ['assistant', 'tool']));
      expect(now.transcript.count).toBe(state.transcript.count);
    }
  });
});

const TURNS = 3;

/** Turns with more calls than a page is to have, in a page that has not been sealed. */
function overlong(state: SessionState): SessionState {
  const turns = Array.from({ length: TURNS }, (_, turn): readonly TranscriptEntry[] => [
    { role: 'assistant', calls: [call(`c${turn}`, 'big', { text: 'x'.repeat(1.2 * TRANSCRIPT_PAGE_CHARS) })] },
    { role: 'tool', call_id: brand(`c${turn}`), tool_name: 'big', content: { text: 'no' }, is_error: true },
  ]);
  const open = [...state.transcript.open, ...turns.flat()];
  return freezeJson({ ...state, transcript: { ...state.transcript, open, count: open.length } });
}

describe('the claims of a batch', () => {
  const spaces = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const claims = spaces.map((space) => ({ space, argument: 'p', form: 'path' as const, access: 'read' as const }));
  const wide = tool('wide', { parallelism_hint: { parallel_safe: true, claims } });
  const chars = (given: readonly { readonly key: string }[]): number =>
    given.reduce((sum, { key }) => sum + key.length, 0);

  test('have a bound in characters in the plan; a call beyond it claims whole spaces', () => {
    const provider_profiles = [{ provider_contains: '', profile_id: brand<'ProfileId'>('all') }];
    const tool_package = { registry: [wide], profiles: [profileOf('all', [wide])], provider_profiles };
    const tools = session({ tool_package }).state.effective_tools;
    const calls = Array.from({ length: 100 }, (_, at) => call(`c${at}`, 'wide', { p: `${'a'.repeat(3_900)}${at}` }));
    const { planned_calls } = planBatch(tools, calls);
    expect(planned_calls).toHaveLength(100);
    const within = Math.floor(CLAIM_CHARS_PER_BATCH_MAX / (8 * 3_904));
    expect(planned_calls.map((planned) => chars(planned.claims) > 100)).toEqual(calls.map((_, at) => at < within));
    expect(planned_calls.at(-1)?.claims.map(({ key }) => key)).toEqual(spaces);
  });

  test('of one call are whole spaces when they are longer than those of a batch may be', () => {
    const hint = {
      parallel_safe: true,
      claims: spaces.map((space) => ({ space, argument: 'p', form: 'patch' as const, access: 'write' as const })),
    };
    const p = Array.from({ length: 10 }, (_, at) => `*** Add File: ${'a'.repeat(4_000)}${at}\n`).join('');
    expect(claimsOf(hint, { p }).map(({ key }) => key)).toEqual(spaces);
    const one = { ...hint, claims: hint.claims.slice(0, 1) };
    const own = claimsOf(one, { p });
    expect(own).toHaveLength(10);
    const room = newClaimRoom();
    const taken = Array.from({ length: 20 }, () => claimsWithin(room, one, own));
    expect(chars(taken.flat())).toBeLessThanOrEqual(CLAIM_CHARS_PER_BATCH_MAX + 20);
    expect(taken.at(-1)).toEqual([{ access: 'write', key: 'a' }]);
  });
});
