// The recorded decisions beside those under another policy, profile or registry.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { AlternativeGiven, Refusal, WhatIfSummary } from '../../protocol.ts';
import { type SourceNow, refusalOf, useApp, useAsk } from '../app.ts';
import { CallLink, To } from '../links.tsx';
import { Answered, Heading, RefusalNote, count, save } from '../panel.tsx';
import { Said } from '../text.tsx';

export interface WhatIfProps {
  readonly of: string;
  readonly source: SourceNow;
}

const TURNS = 100;

export function WhatIf({ of, source }: WhatIfProps): JSX.Element {
  const { link } = useApp();
  const known = useAsk('alternatives', { source: source.source });
  const policy = useSignal('');
  const profile = useSignal('');
  const registry = useSignal('');
  const answer = useSignal<{ readonly summary: WhatIfSummary; readonly number: number } | null>(null);
  const refused = useSignal<Refusal | null>(null);
  const works = useSignal(false);
  const given: AlternativeGiven = {
    ...(policy.value === '' ? {} : { policy: policy.value }),
    ...(profile.value === '' ? {} : { profile: profile.value }),
    ...(registry.value === '' ? {} : { registry: registry.value }),
  };
  const decide = (): void => {
    refused.value = null;
    works.value = true;
    link
      .ask('whatIf', { source: source.source, ...given })
      .then(
        (summary) => (answer.value = { summary, number: (answer.value?.number ?? 0) + 1 }),
        (error: unknown) => (refused.value = refusalOf(error)),
      )
      .finally(() => (works.value = false));
  };
  const takeRegistry = (file: File | undefined): void => {
    file?.text().then(
      (text) => (registry.value = text),
      (error: unknown) => (refused.value = refusalOf(error)),
    );
  };
  return (
    <>
      <Heading>
        What if – <Said text={source.name} />
      </Heading>
      <p class="note">
        Every recorded turn is judged and planned again, each alone: what the model would have done after another result
        is unknown.
      </p>
      <Answered asked={known} waiting="reading the policies and profiles …">
        {({ policies, profiles }) => (
          <form
            class="filters"
            onSubmit={(event) => {
              event.preventDefault();
              decide();
            }}
          >
            <label>
              Policy{' '}
              <select value={policy.value} onChange={({ currentTarget: { value } }) => (policy.value = value)}>
                <option value="">as recorded</option>
                {Object.keys(policies).map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <label>
              Profile{' '}
              <select value={profile.value} onChange={({ currentTarget: { value } }) => (profile.value = value)}>
                <option value="">as recorded</option>
                {profiles.map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <label>
              Registry (JSON file){' '}
              <input
                type="file"
                accept=".json"
                onChange={({ currentTarget }) => takeRegistry(currentTarget.files?.[0])}
              />
            </label>
            <button type="submit" disabled={Object.keys(given).length === 0 || works.value}>
              decide again
            </button>
          </form>
        )}
      </Answered>
      {works.value && <p role="status">deciding …</p>}
      {refused.value !== null && <RefusalNote refusal={refused.value} />}
      {answer.value !== null && (
        <Decisions key={answer.value.number} of={of} source={source} summary={answer.value.summary} />
      )}
    </>
  );
}

function Decisions({ of, source, summary }: WhatIfProps & { readonly summary: WhatIfSummary }): JSX.Element {
  const { link } = useApp();
  const from = useSignal(0);
  const asked = useAsk('whatIfTurns', { source: source.source, from: from.value, limit: TURNS });
  const exportAll = (): void => {
    void link.ask('whatIfExport', { source: source.source }).then(({ name, text }) => save(name, text));
  };
  return (
    <section aria-label="decisions">
      <p role="status">
        {count(summary.changed, 'turn')} of {summary.turns.toLocaleString('en')} would be decided differently:{' '}
        {count(summary.rejections, 'refusal')}, {count(summary.approvals, 'question')}, {count(summary.plans, 'plan')},{' '}
        {count(summary.offers, 'offer')}
        {summary.faults > 0 && `, ${count(summary.faults, 'turn')} without tools`}
        {summary.unjudged > 0 && `; ${count(summary.unjudged, 'call')} could not be judged here and keep their verdict`}
      </p>
      <button type="button" onClick={exportAll}>
        export the list
      </button>
      <Answered asked={asked} waiting="reading the decisions …">
        {({ turns, total, from: first }) => (
          <>
            <table>
              <thead>
                <tr>
                  <th scope="col">turn</th>
                  <th scope="col">call</th>
                  <th scope="col">recorded</th>
                  <th scope="col">would be</th>
                </tr>
              </thead>
              <tbody>
                {turns.flatMap((turn) => {
                  const { position, run_id, changes, offer, fault } = turn;
                  const head = (
                    <To to={{ screen: 'turn', of, run: run_id, turn: turn.turn }}>
                      {turn.turn} of <Said text={run_id} />
                    </To>
                  );
                  const rows = changes.map((change, index) => (
                    <tr key={`${position} ${index}`}>
                      <td>{head}</td>
                      <td>
                        <CallLink of={of} address={change.address}>
                          <Said text={`${change.tool_name} ${change.call_id}`} />
                        </CallLink>
                      </td>
                      <td>
                        <Said text={change.was} />
                      </td>
                      <td>
                        <Said text={change.would_be} />
                      </td>
                    </tr>
                  ));
                  const said = fault?.message ?? (offer === null ? null : offerText(offer));
                  return said === null
                    ? rows
                    : [
                        <tr key={`${position} offer`}>
                          <td>{head}</td>
                          <td colSpan={3}>
                            <Said text={said} />
                          </td>
                        </tr>,
                        ...rows,
                      ];
                })}
              </tbody>
            </table>
            <p class="pager">
              {first > 0 && (
                <button type="button" onClick={() => (from.value = Math.max(0, first - TURNS))}>
                  previous
                </button>
              )}
              {first + turns.length < total && (
                <button type="button" onClick={() => (from.value = first + TURNS)}>
                  next of {total.toLocaleString('en')}
                </button>
              )}
            </p>
          </>
        )}
      </Answered>
    </section>
  );
}

interface Offer {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly redefined: readonly string[];
}

const offerText = ({ added, removed, redefined }: Offer): string =>
  [
    added.length > 0 ? `also offered: ${added.join(', ')}` : '',
    removed.length > 0 ? `not offered: ${removed.join(', ')}` : '',
    redefined.length > 0 ? `defined otherwise: ${redefined.join(', ')}` : '',
  ]
    .filter((part) => part !== '')
    .join('; ');
