// The plan of a batch as a table, in pages: what its picture shows, and the claims and reasons that do not fit there.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { CallAddress, PlanEdge, PlanGraph, PlanNode } from '../protocol.ts';
import { CallLink } from './links.tsx';
import { Pager } from './panel.tsx';
import { TableHead } from './table-head.tsx';
import { Said } from './text.tsx';

/** Calls of one page, and claims or reasons that are written out for one call. */
const CALLS_PAGE = 60;
const REASONS_MAX = 20;

export interface PlanProps {
  readonly of: string;
  readonly plan: PlanGraph;
  readonly addressOf: (id: string) => CallAddress | null;
}

export function PlanTable({ of, plan, addressOf }: PlanProps): JSX.Element {
  const from = useSignal(0);
  const waitsFor = useMemo(() => edgesByEnd(plan.edges), [plan]);
  const rows = [...plan.calls, ...plan.rejected];
  const shown = rows.slice(from.value, from.value + CALLS_PAGE);
  return (
    <>
      <div class="scrolls" tabIndex={0} role="region" aria-label="table of the plan">
        <table>
          <TableHead columns={['group', 'call', 'status', 'claims', 'waits for']} />
          <tbody>
            {shown.map((call, index) => (
              <PlanRow
                key={from.value + index}
                call={call}
                name={
                  <CallLink of={of} address={addressOf(call.call_id)}>
                    <Said text={`${call.tool_name} ${call.call_id}`} />
                  </CallLink>
                }
                waitsFor={waitsFor.get(call.call_id) ?? []}
              />
            ))}
          </tbody>
        </table>
      </div>
      <Pager
        first={from.value}
        shown={shown.length}
        total={rows.length}
        size={CALLS_PAGE}
        onFrom={(next) => (from.value = next)}
      />
    </>
  );
}

function edgesByEnd(edges: readonly PlanEdge[]): ReadonlyMap<string, readonly PlanEdge[]> {
  const found = new Map<string, PlanEdge[]>();
  for (const edge of edges) {
    const known = found.get(edge.to);
    if (known === undefined) found.set(edge.to, [edge]);
    else known.push(edge);
  }
  return found;
}

interface PlanRowProps {
  readonly call: PlanNode | PlanGraph['rejected'][number];
  readonly name: JSX.Element;
  readonly waitsFor: readonly PlanEdge[];
}

function PlanRow({ call, name, waitsFor }: PlanRowProps): JSX.Element {
  if (!('group' in call)) {
    return (
      <tr>
        <td>–</td>
        <td>{name}</td>
        <td class="rejected">rejected ({call.code})</td>
        <td />
        <td>
          <Said text={call.message} />
        </td>
      </tr>
    );
  }
  return (
    <tr>
      <td>{call.group + 1}</td>
      <td>{name}</td>
      <td class={call.status}>
        {call.status}
        {call.code !== null && ` (${call.code})`}
      </td>
      <td>
        {call.claims.slice(0, REASONS_MAX).map((claim) => (
          <div key={`${claim.access}${claim.key}`}>
            {claim.access} <Said text={claim.key} />
          </div>
        ))}
        <Rest all={call.claims.length} />
      </td>
      <td>
        {waitsFor.slice(0, REASONS_MAX).map((edge) => (
          <div key={edge.from}>
            <Said text={edge.from} />: <Said text={edge.why} />
          </div>
        ))}
        <Rest all={waitsFor.length} />
      </td>
    </tr>
  );
}

const Rest = ({ all }: { readonly all: number }): JSX.Element | null =>
  all > REASONS_MAX ? <div class="note">and {(all - REASONS_MAX).toLocaleString('en')} more</div> : null;
