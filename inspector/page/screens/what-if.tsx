// The recorded decisions beside those under another policy, profile or registry.
import type { JSX } from 'preact';
import { type Signal, useSignal } from '@preact/signals';
import { visible } from '../../../src/shown/visible.ts';
import type { AlternativeGiven, Refusal, WhatIfSummary, WhatIfWindow } from '../../protocol.ts';
import { type SourceNow, refusalOf, useApp, useAsk } from '../app.ts';
import { into } from '../into.ts';
import { CallLink, To } from '../links.tsx';
import { Answered, Heading, Pager, RefusalNote, count, save } from '../panel.tsx';
import { TableHead } from '../table-head.tsx';
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
            <Choice label="Policy" among={Object.keys(policies)} chosen={policy} />
            <Choice label="Profile" among={profiles} chosen={profile} />
            <RegistryFile
              onText={(text) => (registry.value = text)}
              onRefused={(refusal) => (refused.value = refusal)}
            />
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
      </p>
      {summary.unjudged > 0 && (
        <p class="note">
          Not judged here: {count(summary.unjudged, 'call')} of tools with another schema for their arguments. The
          verdict that was recorded is kept for {summary.unjudged === 1 ? 'it' : 'them'}; <code>refold whatif</code>{' '}
          judges anew.
        </p>
      )}
      <button type="button" onClick={exportAll}>
        export the list
      </button>
      <Answered asked={asked} waiting="reading the decisions …">
        {({ turns, total, from: first }) => (
          <>
            <table>
              <TableHead columns={['turn', 'call', 'recorded', 'would be']} />
              <tbody>
                {turns.map((turn) => (
                  <DecidedTurn key={turn.position} of={of} turn={turn} />
                ))}
              </tbody>
            </table>
            <Pager
              first={first}
              shown={turns.length}
              total={total}
              size={TURNS}
              onFrom={(next) => (from.value = next)}
            />
          </>
        )}
      </Answered>
    </section>
  );
}

interface RegistryFileProps {
  readonly onText: (text: string) => void;
  readonly onRefused: (refusal: Refusal) => void;
}

function RegistryFile({ onText, onRefused }: RegistryFileProps): JSX.Element {
  const take = (file: File | undefined): void => {
    file?.text().then(onText, (error: unknown) => onRefused(refusalOf(error)));
  };
  return (
    <label>
      Registry (JSON file){' '}
      <input type="file" accept=".json" onChange={({ currentTarget: { files } }) => take(files?.[0])} />
    </label>
  );
}

interface DecidedTurnProps {
  readonly of: string;
  readonly turn: WhatIfWindow['turns'][number];
}

function DecidedTurn({ of, turn: { run_id, turn, changes, rest, offer, fault } }: DecidedTurnProps): JSX.Element {
  const head = (
    <To to={{ screen: 'turn', of, run: run_id, turn }}>
      {turn} of <Said text={run_id} />
    </To>
  );
  const said = fault?.message ?? (offer === null ? null : offerText(offer));
  return (
    <>
      {said !== null && (
        <tr>
          <td>{head}</td>
          <td colSpan={3}>
            <Said text={said} />
          </td>
        </tr>
      )}
      {changes.map((change, index) => (
        <tr key={index}>
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
      ))}
      {rest > 0 && (
        <tr>
          <td>{head}</td>
          <td colSpan={3} class="note">
            and {count(rest, 'more call')}, which the exported list has
          </td>
        </tr>
      )}
    </>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly among: readonly string[];
  readonly chosen: Signal<string>;
}

const Choice = ({ label, among, chosen }: ChoiceProps): JSX.Element => (
  <label>
    {label}{' '}
    <select value={chosen.value} onChange={into(chosen)}>
      <option value="">as recorded</option>
      {among.map((name) => (
        <option key={name} value={name}>
          {visible(name)}
        </option>
      ))}
    </select>
  </label>
);

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
