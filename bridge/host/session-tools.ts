// host.session.open and host.session.signal.
import type { JsonObject } from '../../schemas/json.ts';
import { optionalChoice, optionalCount, optionalObject, requiredText } from './arguments.ts';
import { SESSION_TTL_MS_MAX, TERM_GRACE_MS, TERM_GRACE_MS_MAX } from '../../schemas/limits.ts';
import { type HostOutcome, ToolFault, succeeded } from './outcome.ts';
import type { HostParts } from './tool.ts';

/** Opens a session on this machine; the only target there is. */
export function openSession(args: JsonObject, host: HostParts): HostOutcome {
  const target = optionalObject(args, 'target') ?? {};
  optionalObject(args, 'labels');
  const other = Object.keys(target).find((key) => key !== 'local');
  if (other !== undefined) {
    const message = `target '${other}' is not available here; leave target out, or give {"local": {}}`;
    const status = host.session.status();
    // A failed attempt says nothing about a session that is open already.
    throw new ToolFault(
      'unsupported_target',
      message,
      status === 'ready' ? {} : { hostSession: { host_session_status: 'error' } },
    );
  }
  const hostSession = host.session.open(optionalCount(args, 'session_ttl_ms', 1, SESSION_TTL_MS_MAX));
  const until = hostSession.expires_at_ms === undefined ? '' : `, until ${hostSession.expires_at_ms} ms (Unix time)`;
  const text = `Session ${hostSession.host_session_id} is ready in ${host.workspace.path}; sandbox ${host.sandbox.level}${until}.`;
  return { ...succeeded(text, { ...hostSession }), hostSession };
}

/** Ends what the session runs; `close` also ends the session. */
export async function signalSession(args: JsonObject, host: HostParts): Promise<HostOutcome> {
  requiredText(args, 'signal');
  const signal = optionalChoice(args, 'signal', ['term', 'kill', 'close']);
  const graceMs = optionalCount(args, 'grace_timeout_ms', 0, TERM_GRACE_MS_MAX) ?? TERM_GRACE_MS;
  // Closed first: a command that another call starts meanwhile would outlive the session.
  const hostSession = signal === 'close' ? host.session.close() : undefined;
  const ended = await host.commands.stopAll('session', signal === 'kill' ? 0 : graceMs);
  const what = ended === 0 ? 'No command was running.' : `Ended ${ended} running command${ended === 1 ? '' : 's'}.`;
  return {
    ...succeeded(`${what}${hostSession === undefined ? '' : ' The session is closed.'}`, { signal, ended }),
    ...(hostSession === undefined ? {} : { hostSession }),
  };
}
