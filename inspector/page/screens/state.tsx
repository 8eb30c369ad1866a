// The state after so many events, as a tree of its parts with their digests; found by path; compared with another position.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import { visible } from '../../../src/shown/visible.ts';
import type { StateNode } from '../../protocol.ts';
import { type SourceNow, useAsk } from '../app.ts';
import { into } from '../into.ts';
import { To } from '../links.tsx';
import { Answered, Heading, JsonDiffTable, Pager, count } from '../panel.tsx';
import { PositionField } from '../position-field.tsx';
import { fragmentOf } from '../route.ts';
import { Shown } from '../text.tsx';

export interface StateProps {
  readonly of: string;
  readonly source: SourceNow;
  readonly at: number | null;
  readonly path: string;
}

const CHILDREN = 200;
const FOUND = 50;

export function State({ of, source, at, path }: StateProps): JSX.Element {
  const here = at ?? source.progress.folded;
  const from = useSignal(0);
  const text = useSignal('');
  const other = useSignal<number | null>(null);
  const asked = useAsk('state', { source: source.source, at: here, path, from: from.value, limit: CHILDREN });
  const found = useAsk(
    'findPath',
    text.value === '' ? null : { source: source.source, at: here, text: text.value, limit: FOUND },
  );
  const diff = useAsk('stateDiff', other.value === null ? null : { source: source.source, a: other.value, b: here });
  const go = (value: number | null): void => {
    window.location.hash = fragmentOf({ screen: 'state', of, at: value, path });
  };
  return (
    <>
      <Heading>State after {count(here, 'event')}</Heading>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <PositionField label="after events" value={at} onChange={go} />
        <label>
          Find a path <input type="search" value={text.value} onInput={into(text)} />
        </label>
        <PositionField label="compare with" value={other.value} onChange={(value) => (other.value = value)} />
      </form>
      {text.value !== '' && (
        <Answered asked={found} waiting="looking …">
          {({ nodes, rest }) => (
            <section aria-label="paths found">
              <Nodes of={of} at={at} nodes={nodes} whole />
              {rest > 0 && <p class="note">{rest.toLocaleString('en')} more</p>}
              {nodes.length === 0 && <p class="note">no path contains it</p>}
            </section>
          )}
        </Answered>
      )}
      {other.value !== null && (
        <section aria-label="difference">
          <h2>What differs</h2>
          <Answered asked={diff} waiting="folding up to both …">
            {(value) => <JsonDiffTable diff={value} a={`after ${other.value ?? ''}`} b={`after ${here}`} />}
          </Answered>
        </section>
      )}
      <Path of={of} at={at} path={path} />
      <Answered asked={asked} waiting="folding up to there …">
        {({ node, children, from: first }) => (
          <>
            {node.digest !== null && (
              <p class="note">
                digest <code class="digest">{node.digest}</code>
              </p>
            )}
            {node.size === 0 && <Shown source={source.source} shown={node.text} />}
            <Nodes of={of} at={at} nodes={children} />
            <Pager
              first={first}
              shown={children.length}
              total={node.size}
              size={CHILDREN}
              onFrom={(next) => (from.value = next)}
            />
          </>
        )}
      </Answered>
    </>
  );
}

function Path({ of, at, path }: Pick<StateProps, 'of' | 'at' | 'path'>): JSX.Element {
  const names = path === '' ? [] : path.slice(1).split('/');
  return (
    <nav class="path" aria-label="path">
      <To to={{ screen: 'state', of, at, path: '' }} current={names.length === 0}>
        state
      </To>
      {names.map((name, index) => {
        const upTo = `/${names.slice(0, index + 1).join('/')}`;
        return (
          <span key={upTo}>
            {' / '}
            <To to={{ screen: 'state', of, at, path: upTo }} current={index === names.length - 1}>
              {visible(name)}
            </To>
          </span>
        );
      })}
    </nav>
  );
}

interface NodesProps {
  readonly of: string;
  readonly at: number | null;
  readonly nodes: readonly StateNode[];
  /** Shows whole paths in place of names. */
  readonly whole?: boolean;
}

function Nodes({ of, at, nodes, whole = false }: NodesProps): JSX.Element | null {
  if (nodes.length === 0) return null;
  return (
    <table class="state">
      <thead>
        <tr>
          <th scope="col">{whole ? 'path' : 'name'}</th>
          <th scope="col">value</th>
          <th scope="col">digest</th>
        </tr>
      </thead>
      <tbody>
        {nodes.map(({ path, name, size, text, digest }) => (
          <tr key={path}>
            <td>
              <To to={{ screen: 'state', of, at, path }}>{visible(whole ? path : name)}</To>
              {size > 0 && <span class="note"> ({size.toLocaleString('en')})</span>}
            </td>
            <td>
              <code>
                {visible(text.text)}
                {text.rest > 0 && '…'}
              </code>
            </td>
            <td>{digest !== null && <code class="digest">{digest.slice(0, 19)}…</code>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
