// What bridges do in a simulated world: they run its tools and restore files. The laws check each action.
import type { PreviewedFiles } from '../../schemas/consent.ts';
import type { SessionId } from '../../schemas/ids.ts';
import type { BridgeWorld, ToolAnswer } from './bridge-world.ts';
import type { Judge } from './laws/judge.ts';
import { checkAsPreviewed } from './laws/preview-law.ts';
import type { WorldLaws } from './laws/world-laws.ts';
import type { CallScript, SessionScript } from './scenario.ts';
import { newSimOutside } from './outside/sim-outside.ts';
import type { SimServer } from './outside/sim-server.ts';
import { newSimPreviews } from './sim-previews.ts';
import type { ProcessClock, SimTime } from './sim-time.ts';
import { type Execution, SIM_WRITERS, isUndoneIn, runSimTool, simToolId } from './sim-tools.ts';
import { newSimWorkspace } from './sim-workspace.ts';

interface BridgeActionsOptions {
  readonly laws: WorldLaws;
  readonly judge: Judge;
  readonly time: SimTime;
  readonly server: SimServer;
  /** Whether the tool that asks makes previews. */
  readonly previews: boolean;
  readonly script: (session: SessionId) => SessionScript;
  readonly trace: (line: string) => void;
}

/** The process that acts. */
interface Actor {
  readonly owner: BridgeWorld['owner'];
  readonly clock: ProcessClock;
  /** Ends the process, if a process may end now. */
  readonly die: () => boolean;
}

export type BridgeActions = (actor: Actor) => Pick<BridgeWorld, 'runTool' | 'preview' | 'restore'>;

/** All bridges share one workspace. */
export function newBridgeActions(options: BridgeActionsOptions): BridgeActions {
  const { laws, judge, time, server, previews, script, trace } = options;
  const workspace = newSimWorkspace();
  const outside = newSimOutside(server, laws.deliveries);
  const found = newSimPreviews({ time, workspace, trace });
  const isChanged = (files: PreviewedFiles = []): boolean =>
    files.some(({ path, before }) => workspace.digestOf(path) !== before);
  const { executions, storedSessions } = laws;
  return ({ owner, clock, die }) => ({
    runTool: async ({ session_id, call_id, tool_id, attempt = null }, args, context) => {
      const { signal, putBlob, previewed, ...tells } = context;
      const stored = storedSessions.get(session_id);
      if (stored === undefined) throw new Error(`there is no session ${session_id}`);
      const token = `${session_id}/${call_id} by ${owner} #${executions.executions.length}`;
      const which = { session_id, call_id, attempt, owner, process: clock, token };
      const execution: Execution = { ...which, succeeded: null, transient: false };
      if (isChanged(previewed)) return CHANGED;
      const checkFiles = (does: string): void =>
        checkAsPreviewed({ id: call_id, call: stored.call(call_id), does }, workspace.digestOf, judge);
      trace(`runs ${token}`);
      executions.entered(execution, stored, { args, resume: tells.resume });
      checkFiles('begins');
      const failed = executions.of(session_id, call_id).filter(({ transient }) => transient).length;
      const heard = (args as unknown as CallScript).does === 'stubborn' ? null : signal;
      const ended = await outside.run(execution, args, { ...tells, signal: heard, die });
      if (ended !== null) {
        execution.succeeded = false;
        return ended;
      }
      const answer = await runSimTool(execution, args, { signal, failed });
      const writes = previews && tool_id === simToolId('ask');
      if (!answer.success || !(writes || (SIM_WRITERS.has(tool_id) && isUndoneIn(script(session_id))))) return answer;
      if (isChanged(previewed)) {
        execution.succeeded = false;
        return CHANGED;
      }
      checkFiles('changes its file');
      const { path } = args as unknown as CallScript;
      return { ...answer, changes: [await workspace.write(execution, path, putBlob)] };
    },
    preview: previews ? async (target, args) => await found.find(target, args, clock) : null,
    restore: (files) => {
      if (clock.isDead()) throw new Error('a dead process cannot restore files');
      const writer = workspace.writerOf(files);
      trace(`${owner} restores ${writer?.token}`);
      const restored = laws.restoring(writer, owner);
      const answer = workspace.restore(files);
      restored(answer);
      return answer;
    },
  });
}

const CHANGED: ToolAnswer = { success: false, code: 'changed_since_preview', text: 'a file has changed' };
