// What bridges do in a simulated world: they run its tools and restore files. The laws check each action.
import type { SessionId } from '../../schemas/ids.ts';
import type { BridgeWorld } from './bridge-world.ts';
import type { WorldLaws } from './laws/world-laws.ts';
import type { CallScript, SessionScript } from './scenario.ts';
import type { ProcessClock } from './sim-time.ts';
import { type Execution, SIM_WRITERS, isUndoneIn, runSimTool } from './sim-tools.ts';
import { newSimWorkspace } from './sim-workspace.ts';

interface BridgeActionsOptions {
  readonly laws: WorldLaws;
  readonly script: (session: SessionId) => SessionScript;
  readonly trace: (line: string) => void;
}

/** The process that acts. */
interface Actor {
  readonly owner: BridgeWorld['owner'];
  readonly clock: ProcessClock;
}

export type BridgeActions = (actor: Actor) => Pick<BridgeWorld, 'runTool' | 'restore'>;

/** All bridges share one workspace. */
export function newBridgeActions({ laws, script, trace }: BridgeActionsOptions): BridgeActions {
  const workspace = newSimWorkspace();
  const { executions, storedSessions } = laws;
  return ({ owner, clock }) => ({
    runTool: async ({ session_id, call_id, tool_id, attempt = null }, args, { signal, putBlob }) => {
      const stored = storedSessions.get(session_id);
      if (stored === undefined) throw new Error(`there is no session ${session_id}`);
      const token = `${session_id}/${call_id} by ${owner} #${executions.executions.length}`;
      const which = { session_id, call_id, attempt, owner, process: clock, token };
      const execution: Execution = { ...which, succeeded: null, transient: false };
      trace(`runs ${token}`);
      executions.entered(execution, stored, args);
      const failed = executions.of(session_id, call_id).filter(({ transient }) => transient).length;
      const answer = await runSimTool(execution, args, { signal, failed });
      if (!answer.success || !SIM_WRITERS.has(tool_id) || !isUndoneIn(script(session_id))) return answer;
      const { path } = args as unknown as CallScript;
      return { ...answer, changes: [await workspace.write(execution, path, putBlob)] };
    },
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
