// Each registered tool at a position: in or out, the reasons, since when, and what the policy says; beside another position.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import { visible } from '../../../src/shown/visible.ts';
import type { ShownTool, ToolRow } from '../../protocol.ts';
import { type SourceNow, useAsk } from '../app.ts';
import { To } from '../links.tsx';
import { Answered, Heading, count, eventName } from '../panel.tsx';
import { fragmentOf } from '../route.ts';
import { Said } from '../text.tsx';
import { WaitingToolsets } from '../toolsets.tsx';
import { PositionField } from '../position-field.tsx';

export interface ToolsProps {
  readonly of: string;
  readonly source: SourceNow;
  readonly at: number | null;
  readonly against: number | null;
}

export function Tools({ of, source, at, against }: ToolsProps): JSX.Element {
  const here = at ?? source.progress.folded;
  const asked = useAsk('tools', { source: source.source, at: here, ...(against === null ? {} : { against }) });
  const text = useSignal('');
  const go = (to: { readonly at: number | null; readonly against: number | null }): void => {
    window.location.hash = fragmentOf({ screen: 'tools', of, ...to });
  };
  return (
    <>
      <Heading>Tools after {count(here, 'event')}</Heading>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <PositionField label="after events" value={at} onChange={(value) => go({ at: value, against })} />
        <PositionField label="beside" value={against} onChange={(value) => go({ at: here, against: value })} />
        <label>
          Filter{' '}
          <input type="search" value={text.value} onInput={({ currentTarget: { value } }) => (text.value = value)} />
        </label>
      </form>
      <Answered asked={asked} waiting="folding up to there …">
        {({ tools, profile, profile_against }) => (
          <>
            <p>
              profile: <Said text={profile} />
              {profile_against !== null && (
                <>
                  {' '}
                  – there: <Said text={profile_against} />
                </>
              )}
            </p>
            {at === null && tools.some(waitsForApproval) && <WaitingToolsets source={source} />}
            <table>
              <thead>
                <tr>
                  <th scope="col">tool</th>
                  <th scope="col">{count(here, 'event')}</th>
                  {against !== null && <th scope="col">{count(against, 'event')}</th>}
                </tr>
              </thead>
              <tbody>
                {tools.filter(fits(text.value)).map((row) => (
                  <Row key={nameOf(row)} of={of} row={row} isCompared={against !== null} />
                ))}
              </tbody>
            </table>
          </>
        )}
      </Answered>
    </>
  );
}

const nameOf = ({ tool, against }: ToolRow): string => (tool ?? against)?.tool_id ?? '';

/** Its definition is not the approved one. */
const waitsForApproval = ({ tool }: ToolRow): boolean =>
  tool?.reasons.some(({ code }) => code === 'not_approved' || code === 'definition_changed') ?? false;

const fits =
  (text: string) =>
  (row: ToolRow): boolean =>
    nameOf(row).toLowerCase().includes(text.toLowerCase());

interface RowProps {
  readonly of: string;
  readonly row: ToolRow;
  readonly isCompared: boolean;
}

const Row = ({ of, row, isCompared }: RowProps): JSX.Element => (
  <tr class={isCompared && row.changed ? 'changed' : ''}>
    <td>
      <Said text={nameOf(row)} />
      {isCompared && row.changed && <span class="note"> (changed)</span>}
    </td>
    <td>
      <Verdict of={of} tool={row.tool} />
    </td>
    {isCompared && (
      <td>
        <Verdict of={of} tool={row.against} />
      </td>
    )}
  </tr>
);

function Verdict({ of, tool }: { readonly of: string; readonly tool: ShownTool | null }): JSX.Element {
  if (tool === null) return <span class="note">not registered</span>;
  return (
    <details>
      <summary class={tool.effective ? 'in' : 'out'}>
        {tool.effective ? 'in' : 'out'}{' '}
        <span class="note">
          {tool.mode}, {tool.consent.decision}
        </span>
      </summary>
      <ul>
        {tool.reasons.map(({ code, speaks_for, text }) => (
          <li key={code}>
            {speaks_for ? 'for' : 'against'}: <Said text={text} /> <span class="code">{code}</span>
          </li>
        ))}
        {tool.consent.reasons.map((reason) => (
          <li key={reason}>
            {tool.consent.decision}: <Said text={reason} />
          </li>
        ))}
      </ul>
      <p>{visible(tool.description)}</p>
      {tool.since !== null && (
        <p class="note">
          since <To to={{ screen: 'session', of, at: tool.since.position }}>{eventName(tool.since.position)}</To> (
          {tool.since.kind})
        </p>
      )}
    </details>
  );
}
