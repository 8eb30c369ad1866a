// Cancels the active run of a session at Ctrl-C, and says so when that is refused.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import type { EngineClient } from '../client/client.ts';

/** `tell` gets why the run goes on, and what to do; it is not called when the run is cancelled or over. */
export async function cancelRun(
  client: Pick<EngineClient, 'session' | 'submit'>,
  id: SessionId,
  tell: (message: string) => void,
): Promise<void> {
  const refused = await refusalOf(client, id);
  if (refused === null) return;
  tell(
    `the run is not cancelled: ${refused}. Press Ctrl-C again to leave it as it is; to end it later: refold interrupt ${id}`,
  );
}

async function refusalOf(client: Pick<EngineClient, 'session' | 'submit'>, id: SessionId): Promise<string | null> {
  const view = await client.session(id)();
  if (isLeft(view)) return view.left.message;
  const { run } = view.right.state;
  if (run === null) return null;
  const event = { kind: 'RunCancelled' as const, run_id: run.run_id, reason: 'interrupted at the terminal' };
  const answer = await client.submit(id, { events: [event] })();
  // The run may have ended meanwhile, or another may have begun.
  return isLeft(answer) && answer.left.code !== 'run_not_active' ? answer.left.message : null;
}
