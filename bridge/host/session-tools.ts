// host.session.open and host.session.signal.
import type { JsonObject } from '../../schemas/json.ts';
import { optionalChoice, optionalCount, optionalObject, requiredText } from './arguments.ts';
import type { SandboxLevel } from '../../schemas/tool-set.ts';
import { SESSION_TTL_MS_MAX, TERM_GRACE_MS, TERM_GRACE_MS_MAX } from '../../schemas/limits.ts';
import { type HostOutcome, ToolFault, succeeded } from './outcome.ts';
import type { HostCallContext, HostParts } from './tool.ts';

/** Opens a session on this machine, the only supported target. */
export function sessionOpenTool(args: JsonObject, host: HostParts, { sessionId }: HostCallContext): HostOutcome {
  const session = host.sessions.of(sessionId);
  const target = optionalObject(args, 'target') ?? {};
  optionalObject(args, 'labels');
  const other = Object.keys(target).find((key) => key !== 'local');
  if (other !== undefined) {
    const message = `target '${other}' is not supported; omit target, or give {"local": {}}`;
    // A failed attempt must not change the status of a session that is already open.
    throw new ToolFault(
      'unsupported_target',
      message,
      session.phase() === 'ready' ? {} : { hostSession: { host_session_status: 'error' } },
    );
  }
  const hostSession = session.open(optionalCount(args, 'session_ttl_ms', 1, SESSION_TTL_MS_MAX));
  const until = hostSession.expires_at_ms === undefined ? '' : `, until ${hostSession.expires_at_ms} ms (Unix time)`;
  const text = `Session ${hostSession.host_session_id} is ready in ${host.workspace.path}; sandbox ${host.sandbox.level} (${NETWORKS[host.sandbox.level]})${until}.`;
  return { ...succeeded(text, { ...hostSession }), hostSession };
}

const NETWORKS: Readonly<Record<SandboxLevel, string>> = {
  bwrap: 'commands have no network',
  none: 'commands have the network of the host',
};

/** Stops the commands that the session runs, and no other session's; `close` also closes the session. */
export async function sessionSignalTool(
  args: JsonObject,
  host: HostParts,
  { sessionId }: HostCallContext,
): Promise<HostOutcome> {
  requiredText(args, 'signal');
  const signal = optionalChoice(args, 'signal', ['term', 'kill', 'close']);
  const graceMs = optionalCount(args, 'grace_timeout_ms', 0, TERM_GRACE_MS_MAX) ?? TERM_GRACE_MS;
  // The session closes first: otherwise a command that another call starts in between would outlive it.
  const hostSession = signal === 'close' ? host.sessions.of(sessionId).close() : undefined;
  const ended = await host.commands.stopOf(sessionId, 'session', signal === 'kill' ? 0 : graceMs);
  const what = ended === 0 ? 'No command was running.' : `Stopped ${ended} running command${ended === 1 ? '' : 's'}.`;
  return {
    ...succeeded(`${what}${hostSession === undefined ? '' : ' The session is closed.'}`, { signal, ended }),
    ...(hostSession === undefined ? {} : { hostSession }),
  };
}
