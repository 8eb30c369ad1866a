// Engine, bridge and MCP servers are killed again and again while sessions call the tools of the servers, and a person answers
// what these ask. What must hold for every call is here; what a kind of call leaves behind is said with its tools.
import { isRight } from 'fp-ts/lib/Either.js';
import { expect } from 'vitest';
import type { ElicitationAnswer } from '../../../schemas/elicitation.ts';
import { type SessionId, brand } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { RecordedEvent } from '../../../schemas/upcast.ts';
import { must } from '../../../src/client/must.ts';
import { type Elicitation, elicitations } from '../../../src/core/status.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { type Random, randomFrom } from '../random.ts';
import { eventsOf } from '../records.ts';
import type { CallsOf } from './crash-model.ts';
import { type CrashOptions, CrashWorld, eventually } from './crash-world.ts';
import { refold } from './refold.ts';

export interface McpKills {
  /** Of these tests, for people. */
  readonly name: string;
  readonly rounds: number;
  readonly seed: number;
  readonly sessions: number;
  readonly servers: NonNullable<CrashOptions['servers']>;
  readonly callsOf: (workspace: string, ...call: Parameters<CallsOf>) => ReturnType<CallsOf>;
  readonly answerTo: (asked: Elicitation) => ElicitationAnswer;
  /** What is wrong with one call when everything has ended; `world` is what {@link worldOf} read. */
  readonly faultsOf: (call: EndedCall, world: readonly string[]) => readonly string[];
  /** The lines that the servers have written. */
  readonly worldOf: (workspace: string) => Promise<readonly string[]>;
}

export interface EndedCall {
  readonly id: string;
  readonly tool: string;
  /** `succeeded`; `unknown` when its bridge was lost with it; else the code of its failure. */
  readonly end: string;
  /** What the model read; empty for a call whose outcome is unknown. */
  readonly text: string;
  readonly noted: boolean;
  /** How often it asked a person, and how often it was answered by one. */
  readonly asked: number;
  readonly answered: number;
}

/** Who is killed together. The first few are the sample. */
const VICTIMS: readonly (readonly string[])[] = [
  ['one'],
  ['servers'],
  ['engine'],
  ['engine', 'one'],
  ['servers'],
  ['engine', 'servers'],
  ['one'],
];
export const MCP_KILLS_SAMPLE = 4;
const LINES_MAX = 20;
const TURNS_MAX = 60;
const RUNS_PER_ROUND = 2;
/** Losses and failures count as attempts. */
const RETRY = { attempts_max: 100, base_ms: 50, cap_ms: 500 };

export interface Survived {
  readonly summary: string;
  /** What is wrong, each with its call. */
  readonly faults: readonly string[];
}

export async function killAll(kills: McpKills): Promise<Survived> {
  const { name, rounds, seed, sessions } = kills;
  const crash = await CrashWorld.open({ servers: kills.servers, callsOf: kills.callsOf });
  const random = randomFrom(seed);
  const person = new Person(crash, kills.answerTo);
  let at = 0;
  try {
    await crash.startBridge('one');
    const ids = await Promise.all(Array.from({ length: sessions }, (_, n) => newSession(crash, `s${n}`)));
    for (const id of ids) person.follow(id);
    // Nothing is killed before each session has the tools.
    await Promise.all(ids.map((id) => crash.submit(id, runOf(id, 0))));
    for (const id of ids) await crash.idle(id);
    const submitting: Promise<void>[] = [];
    for (at = 1; at <= rounds; at += 1) {
      for (let n = 0; n < RUNS_PER_ROUND; n += 1) {
        const id = random.pick(ids);
        submitting.push(crash.submit(id, followUpOf(id, `${at}_${n}`)));
      }
      person.waitsForNextRound = random.oneIn(3);
      await round(crash, random, VICTIMS[at - 1] ?? random.pick(VICTIMS));
      if (at % 10 === 0) process.stdout.write(`${name}: ${at} of ${rounds} kills, ${crash.lines.length} lines\n`);
    }
    person.waitsForNextRound = false;
    await Promise.all(submitting);
    for (const id of ids) await crash.idle(id);
    const { tally, faults } = await checkAll(crash, ids, kills);
    return { summary: `${name}: seed ${seed}, ${rounds} kills, ${tally}`, faults };
  } catch (error) {
    throw new Error(`kill ${at} of ${rounds}; to repeat it: REFOLD_TEST_SEED=${seed}`, { cause: error });
  } finally {
    person.stop();
    await crash.close();
  }
}

/** One round: some progress, a kill at a random moment, a restart of what was killed; the bridge restarts its servers itself. */
async function round(crash: CrashWorld, random: Random, victims: readonly string[]): Promise<void> {
  await crash.untilMoreLines(1 + random.below(LINES_MAX));
  // The random moment is the point of the test; this waits for no condition.
  for (let turns = random.below(TURNS_MAX); turns > 0; turns -= 1) await new Promise(setImmediate);
  if (victims.includes('servers')) crash.killCommands();
  const processes = victims.filter((victim) => victim !== 'servers');
  await crash.kill(...processes);
  // A bridge waits for its engine, which therefore starts beside it.
  await Promise.all(processes.map((one) => (one === 'engine' ? crash.startEngine() : crash.startBridge(one))));
}

async function newSession(crash: CrashWorld, id: string): Promise<SessionId> {
  const config = { provider: 'openai', model: 'test', host_session_open: false, retry: RETRY };
  const session_id = brand<'SessionId'>(id);
  return (await must(crash.client.createSession({ session_id, config, consent: CONSENT_PRESETS.allow_all })))
    .session_id;
}

const inputOf = (id: string, run: string | number) => ({ input: { text: `${id}-r${run}` } });
const runOf = (id: string, run: number) =>
  ({ kind: 'RunRequested', event_id: brand<'EventId'>(`go-${id}`), ...inputOf(id, run) }) as const;
const followUpOf = (id: string, run: string) =>
  ({ kind: 'FollowUpQueued', event_id: brand<'EventId'>(`more-${run}`), follow_up: inputOf(id, run) }) as const;

/** Answers every question that is open, at once or in the next round. */
class Person {
  waitsForNextRound = false;
  readonly #crash: CrashWorld;
  readonly #answerTo: McpKills['answerTo'];
  readonly #over = new AbortController();

  constructor(crash: CrashWorld, answerTo: McpKills['answerTo']) {
    this.#crash = crash;
    this.#answerTo = answerTo;
  }

  follow(id: SessionId): void {
    void this.#follow(id).catch((error: unknown) => {
      if (!this.#over.signal.aborted) throw error;
    });
  }

  stop(): void {
    this.#over.abort();
  }

  async #follow(id: SessionId): Promise<void> {
    const { client } = this.#crash;
    for await (const { event } of client.follow(id, { signal: this.#over.signal })) {
      if (event.kind !== 'ToolCallAsked') continue;
      await eventually('the person answers', () => !this.waitsForNextRound, 120_000);
      for (const asked of await this.#openIn(id)) await this.#answer(id, asked);
    }
  }

  async #openIn(id: SessionId): Promise<readonly Elicitation[]> {
    let open: readonly Elicitation[] = [];
    // The engine may be killed under the request.
    const isRead = async (): Promise<boolean> => {
      const view = await this.#crash.client.session(id)();
      if (isRight(view)) open = elicitations(view.right.state);
      return isRight(view);
    };
    await eventually('the engine answers', isRead, 120_000);
    return open;
  }

  async #answer(id: SessionId, asked: Elicitation): Promise<void> {
    const { batch_id, call_id, attempt, question } = asked;
    const named = { batch_id, call_id, attempt, question, event_id: brand<'EventId'>(`answer-${call_id}-${attempt}`) };
    await this.#crash.submit(id, { kind: 'user.elicitation_result', ...named, ...this.#answerTo(asked) });
  }
}

interface Checked {
  readonly tally: string;
  readonly faults: readonly string[];
}

async function checkAll(crash: CrashWorld, ids: readonly SessionId[], kills: McpKills): Promise<Checked> {
  const world = await kills.worldOf(crash.workspace);
  const all: EndedCall[] = [];
  for (const id of ids) all.push(...callsIn(eventsOf(await recordsOf(crash, id))));
  const faults = all.flatMap((call) => kills.faultsOf(call, world).map((fault) => `${fault}: ${JSON.stringify(call)}`));
  expect(crash.model.unpaired).toEqual([]);
  await crash.kill('engine', 'one');
  for (const id of ids)
    expect(await refold(['verify', id, '--laws', '--data-dir', crash.dataDir()])).toMatchObject({ code: 0 });
  const count = (fits: (call: EndedCall) => boolean): number => all.filter(fits).length;
  const questions = all.reduce((sum, { asked }) => sum + asked, 0);
  const tally =
    `${all.length} calls, ${count(({ end }) => end === 'succeeded')} succeeded, ${count(({ end }) => end === 'unknown')} ` +
    `of unknown outcome, ${count(({ end }) => end === 'server_unavailable')} without their server, ` +
    `${count(({ noted }) => noted)} noted, ${questions} questions`;
  return { tally, faults };
}

async function recordsOf(crash: CrashWorld, id: SessionId): Promise<readonly StreamRecord[]> {
  const records: StreamRecord[] = [...(await must(crash.client.records(id)))];
  for (;;) {
    const more = await must(crash.client.records(id, eventsOf(records).length));
    if (more.length === 0) return records;
    records.push(...more);
  }
}

function callsIn(events: readonly RecordedEvent[]): readonly EndedCall[] {
  const observed = events.flatMap((event) => (event.kind === 'ToolCallsObserved' ? event.calls : []));
  return observed.map(({ call_id, tool_name }) => {
    const own = events.filter((event) => 'call_id' in event && event.call_id === call_id);
    const settled = own.findLast((event) => event.kind === 'ToolCallSettled');
    const last = own.findLast(({ kind }) => kind === 'ToolCallSettled' || kind === 'LeaseExpired');
    const times = (kind: RecordedEvent['kind']): number => own.filter((event) => event.kind === kind).length;
    return {
      id: call_id,
      tool: tool_name.slice(tool_name.lastIndexOf('__') + 2),
      end: endOf(last),
      text: settled?.output !== undefined && 'text' in settled.output ? settled.output.text : '',
      noted: times('ToolCallNoted') > 0,
      asked: times('ToolCallAsked'),
      answered: times('user.elicitation_result'),
    };
  });
}

function endOf(last: RecordedEvent | undefined): string {
  if (last?.kind !== 'ToolCallSettled') return last === undefined ? 'lost' : 'unknown';
  if (last.result.success) return 'succeeded';
  return last.outcome === 'unknown' ? 'unknown' : (last.code ?? 'failed');
}
