// A turn that would have been decided differently, as lines for people and as an object for programs.
import { paint } from './paint.ts';
import type { OfferChange, TurnWhatIf } from '../core/compare/what-if.ts';
import type { CallChange, CallDecision } from '../core/compare/what-if-calls.ts';
import { clipJson } from './clip-json.ts';

const WIDTH = 60;

/** The lines of a turn. An offer that differs as in the previous turn is not repeated. */
export function whatIfLines(turn: TurnWhatIf, before: TurnWhatIf | null): readonly string[] {
  const { position, run_id, turn: number, offer, changes, fault } = turn;
  const sameOffer = offer === null || (before !== null && describeOffer(before.offer) === describeOffer(offer));
  const lines = [
    ...(sameOffer ? [] : [`  offer  ${describeOffer(offer)}`]),
    ...(fault === null ? [] : [`  ${paint.red('no tools')}  ${fault.message} (${fault.code})`]),
    ...changes.map((change) => `  ${describeChange(change)}`),
  ];
  return lines.length === 0 ? [] : [paint.dim(`position ${position}, turn ${number} of ${run_id}`), ...lines];
}

/** Decisions hold only the fields that differ. */
export const turnObject = ({ changes, ...turn }: TurnWhatIf): object => ({
  ...turn,
  changes: changes.map((change) => ({
    ...change,
    recorded: decisionObject(change, change.recorded),
    alternative: decisionObject(change, change.alternative),
  })),
});

const decisionObject = ({ kind, fields }: CallChange, decision: CallDecision): object =>
  kind === 'rejection'
    ? rejectionOf(decision)
    : Object.fromEntries(Object.entries(decision).filter(([name]) => fields.includes(name)));

const rejectionOf = (decision: CallDecision): object =>
  decision.accepted ? { accepted: true, group: decision.group } : { accepted: false, code: decision.code };

function describeOffer(offer: OfferChange | null): string {
  if (offer === null) return '';
  return [
    ...offer.added.map((name) => paint.green(`+${name}`)),
    ...offer.removed.map((name) => paint.red(`-${name}`)),
    ...offer.redefined.map((name) => paint.yellow(`~${name}`)),
  ].join(' ');
}

function describeChange({ call_id, tool_name, kind, recorded, alternative, fields }: CallChange): string {
  const name = `${paint.bold(call_id)} ${tool_name}`;
  if (kind === 'rejection') return `${name}  ${describeDecision(recorded)} → ${describeDecision(alternative)}`;
  const [a, b] = [recorded, alternative] as unknown as readonly [Fields, Fields];
  const asking = kind === 'approval' ? [`${describeAsking(recorded)} → ${describeAsking(alternative)}`] : [];
  const others = fields.filter((field) => field !== 'asks');
  return `${name}  ${[...asking, ...others.map((field) => `${field} ${valueOf(a, field)} → ${valueOf(b, field)}`)].join('; ')}`;
}

type Fields = Readonly<Record<string, unknown>>;

const valueOf = (fields: Fields, name: string): string => clipJson(fields[name] ?? null, WIDTH);

const describeAsking = (decision: CallDecision): string =>
  decision.accepted && decision.asks ? paint.yellow('asks a person') : paint.green('runs without asking');

export const describeDecision = (decision: CallDecision): string =>
  decision.accepted ? paint.green(`runs in group ${decision.group + 1}`) : paint.red(`rejected, ${decision.code}`);
