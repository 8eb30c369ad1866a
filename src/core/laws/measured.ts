// What the edge measured is what anyone measures again: digests of arguments, verdicts on text and claims
// (docs/design.md, law 8).
import { measuredFault } from '../measured.ts';
import { type LawBreach, type LawCase, breachOf } from './breach.ts';

export function checkMeasured(judged: LawCase): readonly LawBreach[] {
  const { event, position } = judged.folded;
  const fault = measuredFault(event);
  if (fault === null) return [];
  const message = `${fault.path}: ${fault.message}`;
  return [breachOf('measured_as_recorded', judged, { against: position, message })];
}
