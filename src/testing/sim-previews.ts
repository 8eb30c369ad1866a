// The previews of a simulated world: what a bridge finds that is asked what a call would do, how long that takes, and who
// changes the file afterwards.
import type { IngressEvent } from '../../schemas/event.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { Submit } from '../../schemas/wire.ts';
import type { ToolPreview, ToolTarget } from './bridge-world.ts';
import type { StoredSession } from './laws/stored-session.ts';
import type { PreviewScript } from './preview-script.ts';
import type { CallScript } from './scenario.ts';
import type { ProcessClock, SimTime } from './sim-time.ts';
import type { SimWorkspace } from './sim-workspace.ts';

/** How the preview of a call goes that the scenario says nothing about. */
const PLAIN: PreviewScript = { how: 'shown', ms: 1, editMs: null, named: 'shown' };

/** The script of a call, as its arguments say it. */
export const previewScriptOf = (args: JsonObject | undefined): PreviewScript =>
  (args as unknown as CallScript | undefined)?.preview ?? PLAIN;

interface SimPreviewsOptions {
  readonly time: SimTime;
  readonly workspace: SimWorkspace;
  readonly trace: (line: string) => void;
}

export interface SimPreviews {
  /** What a call would do, as a process finds it. A dead process finds nothing. */
  find(target: ToolTarget, args: JsonObject, clock: ProcessClock): Promise<ToolPreview>;
}

export function newSimPreviews({ time, workspace, trace }: SimPreviewsOptions): SimPreviews {
  let edits = 0;
  return {
    async find({ session_id, call_id }, args, clock) {
      const { how, ms, editMs } = previewScriptOf(args);
      const { path: name } = args as unknown as CallScript;
      await new Promise<void>((resolve) => void clock.after(ms, resolve));
      if (how === 'throws') throw new Error('made to throw');
      if (how === 'none') return { code: 'made_to_fail', message: 'made to fail' };
      const path = `${session_id}/${name}`;
      const before = workspace.digestOf(path);
      trace(`previews ${session_id}/${call_id}`);
      if (editMs !== null) {
        edits += 1;
        const text = `edit ${edits} of ${path}`;
        time.after(editMs, () => {
          trace(text);
          workspace.edit(path, text);
        });
      }
      return { diff: `\u00bb ${path}\n+${call_id}`, files: [{ path, before }] };
    },
  };
}

/** The same report of a preview under another event id, when the scenario has the call previewed twice; else null. */
export function secondReport(
  request: readonly unknown[],
  stored: StoredSession | undefined,
): readonly [session: SessionId, request: Submit] | null {
  const [session, submit] = request as readonly [SessionId, Submit];
  const [event] = submit.events;
  if (event?.kind !== 'CallPreviewed' || event.event_id?.endsWith(AGAIN) === true) return null;
  const { how } = previewScriptOf(stored?.call(event.call_id)?.observed.arguments);
  if (how !== 'twice') return null;
  const again: IngressEvent['event_id'] = brand(`${event.event_id}${AGAIN}`);
  return [session, { ...submit, events: [{ ...event, event_id: again }] }];
}

const AGAIN = '-again';
