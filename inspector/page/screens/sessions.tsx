// All sessions of the engine, and where a file is dropped.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { SessionRow, SessionsWanted } from '../../protocol.ts';
import { useApp, useAsk } from '../app.ts';
import { To } from '../links.tsx';
import { Answered, At, Heading, count } from '../panel.tsx';
import { TableHead } from '../table-head.tsx';
import { Said } from '../text.tsx';
import { VerdictMarks } from '../verdict-lines.tsx';
import { FileChooser } from '../files.tsx';

const PAGE = 100;
const STATUSES = ['idle', 'running', 'requires_action', 'waiting', 'paused', 'incomplete'] as const;

export function Sessions(): JSX.Element {
  const { engine, live, sources } = useApp();
  const files = sources.value.filter(({ kind }) => kind !== 'engine');
  return (
    <>
      <Heading>Sessions</Heading>
      <FileChooser />
      {files.length > 0 && (
        <section aria-label="opened files">
          <h2>Files</h2>
          <ul>
            {files.map(({ source, name, progress, verdicts }) => (
              <li key={source}>
                <To to={{ screen: 'session', of: `file:${source}`, at: null }}>
                  <Said text={name} />
                </To>{' '}
                {count(progress.folded, 'event')} {verdicts !== null && <VerdictMarks verdicts={verdicts} />}
              </li>
            ))}
          </ul>
        </section>
      )}
      {engine.value === null ? (
        <p class="note">
          This page has no engine. Drop an exported session on it, or open it with <code>refold open</code>.
        </p>
      ) : (
        <EngineSessions again={live.value} />
      )}
    </>
  );
}

function EngineSessions({ again }: { readonly again: number }): JSX.Element {
  const text = useSignal('');
  const status = useSignal<(typeof STATUSES)[number] | ''>('');
  const pages = useSignal<readonly string[]>([]);
  const after = pages.value.at(-1);
  const wanted: SessionsWanted = {
    limit: PAGE,
    ...(after === undefined ? {} : { after: after as NonNullable<SessionsWanted['after']> }),
    ...(status.value === '' ? {} : { status: status.value }),
    ...(text.value === '' ? {} : { text: text.value }),
  };
  const asked = useAsk('sessions', wanted, again);
  return (
    <section aria-label="sessions of the engine">
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Filter{' '}
          <input
            type="search"
            value={text.value}
            placeholder="id or title"
            onInput={({ currentTarget: { value } }) => {
              text.value = value;
              pages.value = [];
            }}
          />
        </label>
        <label>
          Status{' '}
          <select
            value={status.value}
            onChange={({ currentTarget: { value } }) => {
              status.value = STATUSES.find((known) => known === value) ?? '';
              pages.value = [];
            }}
          >
            <option value="">any</option>
            {STATUSES.map((known) => (
              <option key={known} value={known}>
                {known}
              </option>
            ))}
          </select>
        </label>
      </form>
      <Answered asked={asked} waiting="reading the sessions …">
        {({ sessions, next }) => (
          <>
            {sessions.length === 0 && <p class="note">no session fits</p>}
            <SessionTable sessions={sessions} />
            <p class="pager">
              {pages.value.length > 0 && (
                <button type="button" onClick={() => (pages.value = pages.value.slice(0, -1))}>
                  previous page
                </button>
              )}
              {next !== null && (
                <button type="button" onClick={() => (pages.value = [...pages.value, next])}>
                  next page
                </button>
              )}
            </p>
          </>
        )}
      </Answered>
    </section>
  );
}

function SessionTable({ sessions }: { readonly sessions: readonly SessionRow[] }): JSX.Element {
  return (
    <table class="sessions">
      <TableHead columns={['session', 'status', 'events', 'last event', 'waits for a person', 'verdicts']} />
      <tbody>
        {sessions.map(({ session_id, card, version, waits, opened }) => (
          <tr key={session_id}>
            <td>
              <To to={{ screen: 'session', of: session_id, at: null }}>
                <Said text={session_id} />
              </To>{' '}
              {card.title !== null && <Said text={card.title} />}
            </td>
            <td class={`status ${card.status}`}>{card.status}</td>
            <td class="number">{version.toLocaleString('en')}</td>
            <td>
              <At ms={card.last_activity_ms} />
            </td>
            <td>
              {waits === null
                ? 'cannot be read'
                : waits.map(({ call_id, tool_name }) => (
                    <div key={call_id}>
                      <Said text={tool_name} />
                    </div>
                  ))}
            </td>
            <td>{opened === null ? 'not opened here' : <VerdictMarks verdicts={opened.verdicts} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
