// Every event of a session as a row, and the selected one beside them as it is recorded.
import type { JSX } from 'preact';
import type { Row } from '../../protocol.ts';
import { useAsk } from '../app.ts';
import { CallLink, To } from '../links.tsx';
import { Answered, At, count, eventName } from '../panel.tsx';
import { Said, Shown } from '../text.tsx';
import { useWindow } from '../use-window.ts';
import { WindowedList } from '../windowed-list.tsx';
import type { ListProps } from './session-turns.tsx';

const ROW_HEIGHT = 24;

interface EventsProps extends ListProps {
  readonly selected: number;
  readonly onSelect: (position: number) => void;
}

export function Events({ of, source, selected, onSelect }: EventsProps): JSX.Element {
  const total = source.progress.total ?? source.progress.read;
  const rows = useWindow(source, total);
  return (
    <div class="events">
      <WindowedList
        label="events"
        rows={total}
        rowHeight={ROW_HEIGHT}
        selected={Math.min(selected, total - 1)}
        onSelect={onSelect}
        onShown={rows.show}
        draw={(position) => (
          <EventRow of={of} row={rows.at(position)} position={position} checked={source.progress.folded} />
        )}
      />
      <EventPane of={of} source={source} position={selected} />
    </div>
  );
}

interface EventRowProps {
  readonly of: string;
  readonly row: Row | null;
  readonly position: number;
  readonly checked: number;
}

function EventRow({ of, row, position, checked }: EventRowProps): JSX.Element {
  if (row === null) {
    return (
      <>
        <span role="gridcell" class="number">
          {position + 1}
        </span>
        <span role="gridcell" class="note">
          …
        </span>
      </>
    );
  }
  return (
    <>
      <span role="gridcell" class="number">
        {position + 1}
      </span>
      <span role="gridcell" class="when">
        <At ms={row.at_ms} />
      </span>
      <span role="gridcell" class={`kind ${row.marks.map((mark) => `is-${mark}`).join(' ')}`}>
        {row.kind}
      </span>
      <span role="gridcell" class="what">
        {row.call === null ? (
          <Said text={row.text} />
        ) : (
          <CallLink of={of} address={row.call}>
            <Said text={row.text} />
          </CallLink>
        )}
      </span>
      {position >= checked && (
        <span role="gridcell" class="unchecked">
          unchecked
        </span>
      )}
    </>
  );
}

function EventPane({ of, source, position }: ListProps & { readonly position: number }): JSX.Element {
  const asked = useAsk('event', { source: source.source, position });
  return (
    <aside class="event" aria-label={eventName(position)}>
      <Answered asked={asked} waiting="reading the event …">
        {({ event, commit, checked, event_digest, position: shown }) => (
          <>
            <h2>Event {shown + 1}</h2>
            <p class="note">
              in the commit of {count(commit.events, 'event')} from {eventName(commit.position)} on;{' '}
              {checked ? 'folded here to its recorded digest' : 'unchecked'};{' '}
              <To to={{ screen: 'state', of, at: shown + 1, path: '' }}>state after it</To>;{' '}
              <To to={{ screen: 'tools', of, at: shown + 1, against: null }}>tools after it</To>
            </p>
            <Shown source={source.source} shown={event} />
            <dl class="pairs">
              <dt>event digest</dt>
              <dd>
                <code class="digest">{event_digest}</code>
              </dd>
              <dt>state digest</dt>
              <dd>
                <code class="digest">{commit.state_digest}</code>
              </dd>
              <dt>chain</dt>
              <dd>
                <code class="digest">{commit.chain}</code>
              </dd>
            </dl>
          </>
        )}
      </Answered>
    </aside>
  );
}
