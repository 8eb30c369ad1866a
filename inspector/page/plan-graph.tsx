// The plan of a batch as a picture: the groups are the columns, an arrow goes from each call to those that wait for it, and
// the chain that took the longest is drawn stronger. The same is a table below it.
import type { JSX } from 'preact';
import type { PlanEdge, PlanGraph, PlanNode } from '../protocol.ts';
import { count } from './panel.tsx';
import { type PlanProps, PlanTable } from './plan-table.tsx';
import { visible } from '../../src/shown/visible.ts';

const NODE = { width: 190, height: 44, gapX: 70, gapY: 14 } as const;
/** A picture of more would not be looked at, and would hold up the page; the table has them all. */
const CALLS_DRAWN_MAX = 200;
const EDGES_DRAWN_MAX = 1_000;

interface Placed {
  readonly node: PlanNode;
  readonly x: number;
  readonly y: number;
}

function placed({ groups, calls }: PlanGraph): ReadonlyMap<string, Placed> {
  const byId = new Map(calls.map((node) => [node.call_id as string, node]));
  const places = new Map<string, Placed>();
  for (const [column, ids] of groups.entries()) {
    for (const [row, id] of ids.entries()) {
      const node = byId.get(id);
      if (node === undefined) continue;
      const x = column * (NODE.width + NODE.gapX) + 1;
      places.set(id, { node, x, y: row * (NODE.height + NODE.gapY) + 1 });
    }
  }
  return places;
}

export function Plan({ of, plan, addressOf }: PlanProps): JSX.Element {
  return (
    <section class="plan" aria-label={`plan of ${plan.batch_id}`}>
      {plan.calls.length <= CALLS_DRAWN_MAX && plan.edges.length <= EDGES_DRAWN_MAX ? (
        <Picture plan={plan} />
      ) : (
        <p class="note">
          {count(plan.calls.length, 'call')} with {count(plan.edges.length, 'edge')} are too many for a picture; the
          table has them.
        </p>
      )}
      <PlanTable of={of} plan={plan} addressOf={addressOf} />
    </section>
  );
}

function Picture({ plan }: { readonly plan: PlanGraph }): JSX.Element {
  const places = placed(plan);
  const critical = new Set<string>(plan.critical);
  const all = [...places.values()];
  const width = Math.max(0, ...all.map(({ x }) => x)) + NODE.width + 2;
  const height = Math.max(0, ...all.map(({ y }) => y)) + NODE.height + 2;
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="picture of the plan">
      <svg width={width} height={height} role="img" aria-label={`${all.length} calls in ${plan.groups.length} groups`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0L8 4L0 8z" class="arrow-head" />
          </marker>
        </defs>
        {plan.edges.map((edge) => (
          <Arrow
            key={`${edge.from} ${edge.to}`}
            edge={edge}
            places={places}
            strong={critical.has(edge.from) && critical.has(edge.to)}
          />
        ))}
        {all.map(({ node, x, y }) => (
          <g key={node.call_id} class={`node ${node.status}${critical.has(node.call_id) ? ' critical' : ''}`}>
            <rect x={x} y={y} width={NODE.width} height={NODE.height} rx={6} />
            <text x={x + 10} y={y + 18}>
              {short(node.tool_name)}
            </text>
            <text x={x + 10} y={y + 35} class="small">
              {short(`${node.call_id} · ${node.status}${node.code === null ? '' : ` · ${node.code}`}`)}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

const short = (text: string): string => {
  const shown = visible(text);
  return shown.length > 28 ? `${shown.slice(0, 27)}…` : shown;
};

interface ArrowProps {
  readonly edge: PlanEdge;
  readonly places: ReadonlyMap<string, Placed>;
  readonly strong: boolean;
}

function Arrow({ edge, places, strong }: ArrowProps): JSX.Element | null {
  const [from, to] = [places.get(edge.from), places.get(edge.to)];
  if (from === undefined || to === undefined) return null;
  const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
  const [x2, y2] = [to.x, to.y + NODE.height / 2];
  const bend = NODE.gapX * 0.6;
  return (
    <path
      class={strong ? 'edge critical' : 'edge'}
      d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
      marker-end="url(#arrow)"
    >
      <title>{visible(edge.why)}</title>
    </path>
  );
}
