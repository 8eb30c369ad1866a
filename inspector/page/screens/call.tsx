// One call: all that is known of it, its arguments and its result, and the files before and after it.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import { visible } from '../../../src/shown/visible.ts';
import type { Absent, CallAddress, CallDetail, ChangedFile, Outcome, ShownText } from '../../protocol.ts';
import { type SourceNow, refusalOf, untilOver, useApp, useAsk } from '../app.ts';
import { OutcomeNote } from '../acts.tsx';
import { Careful, SureButton } from '../careful.tsx';
import { To } from '../links.tsx';
import { Answered, DiffLines, Heading, eventName } from '../panel.tsx';
import { Said, Shown, ShownWithFiles } from '../text.tsx';

export interface CallProps {
  readonly of: string;
  readonly source: SourceNow;
  readonly address: CallAddress;
}

export function Call({ of, source, address }: CallProps): JSX.Element {
  const asked = useAsk('call', { source: source.source, ...address }, untilOver(source, isOver));
  return (
    <>
      <Heading>
        Call <Said text={address.call_id} />
      </Heading>
      <Answered asked={asked} waiting="folding up to this call …">
        {(detail) => <Detail of={of} source={source} detail={detail} />}
      </Answered>
    </>
  );
}

const isOver = ({ result }: CallDetail): boolean => result !== null;

interface DetailProps {
  readonly of: string;
  readonly source: SourceNow;
  readonly detail: CallDetail;
}

function Detail({ of, source, detail }: DetailProps): JSX.Element {
  const { explanation, lines, output, result, changes, address, command } = detail;
  const copied = useSignal('');
  const copy = (): void => {
    navigator.clipboard.writeText(window.location.href).then(
      () => (copied.value = 'copied'),
      () => (copied.value = 'the browser does not allow it; the address of this page is the link'),
    );
  };
  return (
    <>
      <p class="note">
        in{' '}
        <To to={{ screen: 'turn', of, run: explanation.run_id, turn: explanation.turn }}>
          turn {explanation.turn} of <Said text={explanation.run_id} />
        </To>
        , made by{' '}
        <To to={{ screen: 'session', of, at: explanation.observed.position }}>
          {eventName(explanation.observed.position)}
        </To>{' '}
        <button type="button" onClick={copy}>
          copy a link
        </button>{' '}
        <span role="status">{copied.value}</span>
      </p>
      <section aria-label="what happened">
        <h2>What happened, and why</h2>
        <pre class="said">{lines.map(visible).join('\n')}</pre>
        <p class="note">
          in a terminal: <code>{visible(command)}</code>
        </p>
      </section>
      <section aria-label="arguments">
        <h2>Arguments</h2>
        <Shown source={source.source} shown={detail.arguments} />
      </section>
      {output !== null && (
        <section aria-label="what the model reads">
          <h2>What the model reads</h2>
          <ShownWithFiles source={source.source} shown={output} />
        </section>
      )}
      {changes.map((change) => (
        <File key={change.path} source={source} address={address} path={change.path} />
      ))}
      <Undo source={source} detail={detail} />
      {result !== null && (
        <details>
          <summary>the whole result as JSON</summary>
          <Shown source={source.source} shown={result} />
        </details>
      )}
    </>
  );
}

function File(props: {
  readonly source: SourceNow;
  readonly address: CallAddress;
  readonly path: string;
}): JSX.Element {
  const { source, address, path } = props;
  const asked = useAsk('changedFile', { source: source.source, ...address, path });
  return (
    <section aria-label={`file ${path}`}>
      <h2>
        File <Said text={path} />
      </h2>
      <Answered asked={asked} waiting="reading the file before and after …">
        {(file) => (file.lines.length > 0 ? <DiffLines lines={file.lines} rest={file.rest} /> : <Sides file={file} />)}
      </Answered>
    </section>
  );
}

const Sides = ({ file: { before, after } }: { readonly file: ChangedFile }): JSX.Element => (
  <dl class="pairs">
    <dt>before</dt>
    <dd>{sideOf(before)}</dd>
    <dt>after</dt>
    <dd>{sideOf(after)}</dd>
  </dl>
);

function sideOf(side: ShownText | Absent | null): string {
  if (side === null) return 'no file';
  return visible('absent' in side ? side.absent : side.text);
}

function Undo({ source, detail: { undo, address } }: Omit<DetailProps, 'of'>): JSX.Element | null {
  const { link } = useApp();
  const isAsked = useSignal(false);
  const outcome = useSignal<Outcome | null>(null);
  const files = useAsk('undoFiles', isAsked.value ? { source: source.source, ...address } : null);
  if (undo.state === 'none') return null;
  const { session_id } = source;
  const run = (): void => {
    if (session_id === null) return;
    link.ask('act', { session_id, kind: 'undo', call: address }).then(
      (answer) => (outcome.value = answer),
      (error: unknown) => (outcome.value = { taken: false, refused: refusalOf(error), first: null }),
    );
  };
  return (
    <section aria-label="undo">
      <h2>Undo</h2>
      {undo.state === 'impossible' && <p>It cannot be undone: {visible(undo.why)}</p>}
      {(undo.state === 'pending' || undo.state === 'done' || undo.state === 'failed') && (
        <p>
          The undo is {undo.state} ({eventName(undo.position)}){undo.message !== null && `: ${visible(undo.message)}`}
        </p>
      )}
      {undo.state === 'possible' && !isAsked.value && (
        <button type="button" onClick={() => (isAsked.value = true)}>
          undo …
        </button>
      )}
      {isAsked.value && (
        <Answered asked={files} waiting="looking which files it would put back …">
          {({ files: named, workspace, command }) => (
            <>
              <ul>
                {named.map(({ path, does }) => (
                  <li key={path}>
                    <Said text={path} />: {DOES[does]}
                  </li>
                ))}
              </ul>
              {workspace !== null && (
                <p>
                  in the workspace <Said text={workspace} />
                </p>
              )}
              {source.can.act ? (
                <Careful
                  class="steps"
                  label="put the files back"
                  shows={JSON.stringify(named)}
                  isOver={outcome.value?.taken === true}
                >
                  <SureButton onPress={run}>put these files back</SureButton>
                </Careful>
              ) : null}
              <p class="note">
                with a bridge of its own: <code>{visible(command)}</code>
              </p>
            </>
          )}
        </Answered>
      )}
      {outcome.value !== null && <OutcomeNote outcome={outcome.value} done="the undo is asked for" />}
    </section>
  );
}

const DOES = { remove: 'is removed', put_back: 'is put back as it was', restore: 'is made again' } as const;
