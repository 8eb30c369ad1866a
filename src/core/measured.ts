// What the engine's edge measured and wrote into an event, measured again (docs/design.md, law 8). The fold takes these facts
// as they are recorded, so an event that did not come through an edge of one's own, as in a file, must be checked for them.
// Here is what an event alone shows. What takes a blob or a schema to measure is checked where these are.
import { argumentsOf, measuredDigest } from '../../schemas/tool-call.ts';
import { isInline } from '../../schemas/content.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';

/** `measured_wrong` with the path of the first field of an event that no edge would have recorded so; null without one. */
export function measuredFault(event: IngressEvent): Rejection | null {
  if (event.kind === 'ToolCallsObserved') {
    for (const [index, call] of event.calls.entries()) {
      const fault = callFault(call, `/calls/${index}`);
      if (fault !== null) return fault;
    }
    return null;
  }
  if (event.kind === 'user.tool_confirmation' && event.instead !== undefined)
    return callFault(event.instead, '/instead');
  return null;
}

/** What is wrong about a recorded measurement. */
export const wrong = (path: string, message: string): Rejection => reject('measured_wrong', path, message);

function callFault(call: ToolCallObserved, path: string): Rejection | null {
  const { call_id, arguments_digest, arguments_verdict, claims } = call;
  const given = argumentsOf(call);
  if ('arguments_ref' in given && isInline(given.arguments_ref)) {
    return wrong(
      `${path}/arguments_ref`,
      `the arguments of "${call_id}" are short, and an edge records them as a value`,
    );
  }
  const isHere = arguments_digest !== undefined && !('arguments_ref' in given);
  const measured = isHere ? measuredDigest(call) : arguments_digest;
  if (measured !== arguments_digest) {
    return wrong(`${path}/arguments_digest`, `the digest of the arguments of "${call_id}" is ${measured}`);
  }
  if ('arguments_text' in given && arguments_verdict?.valid === true) {
    return wrong(
      `${path}/arguments_verdict`,
      `the arguments of "${call_id}" are no JSON object, so they fit no schema`,
    );
  }
  if (claims !== undefined && !('arguments_ref' in given)) {
    return wrong(`${path}/claims`, `the arguments of "${call_id}" are in no blob, so the fold works out its claims`);
  }
  return null;
}
