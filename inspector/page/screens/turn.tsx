// One turn: its plan as a graph with the claims and the reason for each edge, and its waits and work in time.
import type { JSX } from 'preact';
import type { CallAddress, TurnDetail } from '../../protocol.ts';
import { type SourceNow, untilOver, useAsk } from '../app.ts';
import { CallLink, To } from '../links.tsx';
import { Answered, Heading, count } from '../panel.tsx';
import { Plan } from '../plan-graph.tsx';
import type { PlanProps } from '../plan-table.tsx';
import type { RunId } from '../../../schemas/ids.ts';
import { Spans, inWords } from '../spans.tsx';
import { Said, ShownWithFiles } from '../text.tsx';

export interface TurnProps {
  readonly of: string;
  readonly source: SourceNow;
  readonly run: string;
  readonly turn: number;
}

export function Turn({ of, source, run, turn }: TurnProps): JSX.Element {
  const asked = useAsk('turn', { source: source.source, run_id: run as RunId, turn }, untilOver(source, isOver));
  return (
    <>
      <Heading>
        Turn {turn} of <Said text={run} />
      </Heading>
      <Answered asked={asked} waiting="folding up to this turn …">
        {(detail) => <Detail of={of} source={source} turn={detail} />}
      </Answered>
    </>
  );
}

/** Calls of the longest chain that are named. */
const CRITICAL_SHOWN = 40;

const isOver = ({ over_ms }: TurnDetail): boolean => over_ms !== null;

interface DetailProps {
  readonly of: string;
  readonly source: SourceNow;
  readonly turn: TurnDetail;
}

function Detail({ of, source, turn }: DetailProps): JSX.Element {
  const addresses = new Map<string, CallAddress>(turn.calls.map((call) => [call.call_id, call]));
  const addressOf = (id: string): CallAddress | null => addresses.get(id) ?? null;
  const { explanation, text, plans, timelines, offered } = turn;
  return (
    <>
      <p class="note">
        <To to={{ screen: 'session', of, at: turn.first }}>
          events {turn.first} to {turn.last}
        </To>
        {explanation.answer?.stop !== null && explanation.answer !== null && (
          <>
            ; the model stopped: <Said text={explanation.answer.stop.reason} />
          </>
        )}
        {explanation.compaction !== null && '; the conversation was compacted before it'}
      </p>
      {text !== null && (
        <section aria-label="the model’s text">
          <h2>The model wrote</h2>
          <ShownWithFiles source={source.source} shown={text} />
        </section>
      )}
      {plans.map((plan) => (
        <section key={plan.batch_id} aria-label={`plan ${plan.batch_id}`}>
          <h2>
            Plan <Said text={plan.batch_id} />
          </h2>
          <p class="note">
            {count(plan.calls.length, 'call')} in {count(plan.groups.length, 'group')},{' '}
            {count(plan.edges.length, 'edge')}; plan hash <code class="digest">{plan.plan_hash}</code>
            <LongestChain of={of} plan={plan} addressOf={addressOf} />
          </p>
          <Plan of={of} plan={plan} addressOf={addressOf} />
        </section>
      ))}
      {plans.length === 0 && <p class="note">no plan: the turn made no calls, or was refused as a whole</p>}
      {timelines.map((timeline, index) => (
        <section key={index} aria-label="times">
          <h2>In time</h2>
          <Spans turn={timeline} />
        </section>
      ))}
      <details>
        <summary>{count(offered.length, 'tool')} offered</summary>
        <ul>
          {offered.map((name) => (
            <li key={name}>
              <Said text={name} />
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** The calls without which the batch would have been faster. */
function LongestChain({ of, plan, addressOf }: PlanProps): JSX.Element | null {
  const { critical, critical_ms } = plan;
  if (critical.length === 0) return null;
  return (
    <>
      <br />
      the chain that took the longest, {inWords(critical_ms)}:{' '}
      {critical.slice(0, CRITICAL_SHOWN).map((id, index) => (
        <span key={id}>
          {index > 0 && ' → '}
          <CallLink of={of} address={addressOf(id)}>
            <Said text={id} />
          </CallLink>
        </span>
      ))}
      {critical.length > CRITICAL_SHOWN && ` → ${count(critical.length - CRITICAL_SHOWN, 'more call')}`}
    </>
  );
}
