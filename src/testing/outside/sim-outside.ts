// The part of the tools of a simulated world that works at a server and asks people, as the script of a call says. It goes on
// where an earlier attempt of the call was, with what that one left.
import type { CallQuestion } from '../../../schemas/elicitation.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { INLINE_CHARS_MAX } from '../../../schemas/limits.ts';
import type { BridgeWorld, ToolAnswer, ToolQuestion, ToolResume } from '../bridge-world.ts';
import type { DeliveryLaw } from '../laws/delivery-law.ts';
import type { CallScript } from '../scenario.ts';
import { never } from '../sim-time.ts';
import type { Execution } from '../sim-tools.ts';
import type { Boundary, OutsideScript } from './outside-script.ts';
import type { SimServer } from './sim-server.ts';

/** What a person answers with: the digest of the question. */
const ANSWER_SCHEMA: JsonObject = {
  type: 'object',
  properties: { to: { type: 'string' } },
  required: ['to'],
};

/** The process in which a call runs. */
interface Host extends Pick<Parameters<BridgeWorld['runTool']>[2], 'resume' | 'note' | 'ask'> {
  /** Null for a tool that ignores its signal. */
  readonly signal: AbortSignal | null;
  /** Ends the process, if a process may end now. */
  readonly die: () => boolean;
}

export interface SimOutside {
  /** How the call ends, or its attempt; null when nothing is left to do outside. In a dead process it never returns. */
  run(execution: Execution, args: JsonObject, host: Host): Promise<ToolAnswer | ToolQuestion | null>;
}

export function newSimOutside(server: SimServer, law: DeliveryLaw): SimOutside {
  const died = new Set<string>();

  async function diesAt(boundary: Boundary, { execution, script, host }: Run): Promise<void> {
    if (mayDie(boundary, execution, script) && host.die()) await never();
  }

  /** True once for a call, at its boundary. */
  function mayDie(boundary: Boundary, { session_id, call_id }: Execution, { dies }: OutsideScript): boolean {
    const name = `${session_id} ${call_id}`;
    if (dies !== boundary || died.has(name)) return false;
    died.add(name);
    return true;
  }

  /** Has the server work, and waits for it. The work of a call is begun once; `work`: its name, when it has begun. */
  async function work(run: Run, at: Place): Promise<ToolAnswer | null> {
    const { execution, script, host, ms } = run;
    const { session_id, call_id, process } = execution;
    at.work ??= server.begin({ session_id, call_id, forgetMs: script.forgetMs });
    const handle = server.goOn(at.work, at.step, ms);
    await diesAt('begun', run);
    const noted = (await host.note?.(handle).catch(() => false)) === true;
    if (process.isDead()) return await never();
    if (noted) law.noted(execution, handle);
    await diesAt('noted', run);
    const how = await server.waitFor(handle, { process, signal: host.signal });
    return how === 'done' ? null : how === 'stopped' ? STOPPED : FORGOTTEN;
  }

  async function ask(run: Run): Promise<void> {
    const { execution, script, host } = run;
    const { process } = execution;
    if (host.ask === undefined) return;
    process.after(DIES_ASKING_MS, () => mayDie('asking', execution, script) && host.die());
    const asked = law.asking(execution, host.signal);
    const answer = await host.ask(questionOf(execution));
    if (process.isDead()) return await never();
    asked.got(answer);
    await diesAt('answered', run);
  }

  return {
    async run(execution, args, host) {
      const { ms, does, outside: script } = args as unknown as CallScript;
      if (script === undefined) return null;
      const run: Run = { execution, script, host, ms };
      if (host.resume !== undefined) await diesAt('resumed', run);
      const at = placeOf(host.resume, server);
      if (at === null) return FORGOTTEN;
      for (; at.step < script.steps.length; at.step += 1) {
        const step = script.steps[at.step];
        if (step === 'leave') {
          await diesAt('leaving', run);
          return { ask: questionOf(execution), state: stateOf(at.step + 1, does === 'large') };
        }
        const ended = step === 'work' ? await work(run, at) : await ask(run);
        if (ended !== null && ended !== undefined) return ended;
      }
      return null;
    },
  };
}

interface Run {
  readonly execution: Execution;
  readonly script: OutsideScript;
  readonly host: Host;
  readonly ms: number;
}

/** Which step is next, and the work of the call at the server, when it has begun. */
interface Place {
  step: number;
  work: string | null;
}

/** Where an attempt begins; null when the server does not know the work that it is to wait for. */
function placeOf(resume: ToolResume | undefined, server: SimServer): Place | null {
  const { handle, state } = resume ?? {};
  const step = state === undefined ? null : (JSON.parse(state) as { readonly step: number }).step;
  if (handle === undefined) return { step: step ?? 0, work: null };
  const found = server.find(handle);
  return found === null ? null : { step: step ?? found.step, work: found.work };
}

const stateOf = (step: number, isLarge: boolean): string =>
  JSON.stringify({ step, page: isLarge ? '.'.repeat(INLINE_CHARS_MAX + 100) : '' });

/** The same words each time, so that only their numbers tell the questions of a call apart. */
const questionOf = ({ call_id }: Execution): CallQuestion => ({
  message: `which of ${call_id}?`,
  schema: ANSWER_SCHEMA,
  from: 'server',
});

/** How long after it began to ask, in milliseconds, a bridge dies that dies while the question is open. */
const DIES_ASKING_MS = 200;

const STOPPED: ToolAnswer = { success: false, code: 'stopped', text: 'stopped while it waited' };
const FORGOTTEN: ToolAnswer = { success: false, code: 'forgotten', text: 'the server does not know the work' };
