// Foreign text on the page: always a text node, with every control and direction mark shown as what it is.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { visible } from '../../src/shown/visible.ts';
import type { ShownContent, ShownText } from '../protocol.ts';
import { useApp } from './app.ts';

/** Text of others in a line. */
export const Said = ({ text }: { readonly text: string }): JSX.Element => <bdi class="said">{visible(text)}</bdi>;

/** Text of others that keeps its lines. */
function Lines({ text }: { readonly text: string }): JSX.Element {
  const lines = text.split('\n');
  // What may be higher than its box scrolls, and then the keyboard must reach it.
  const scrolls = lines.length > LINES_SEEN || text.length > CHARS_SEEN;
  return (
    <pre class="said" dir="auto" tabIndex={scrolls ? 0 : undefined}>
      {lines.map(visible).join('\n')}
    </pre>
  );
}

const LINES_SEEN = 12;
const CHARS_SEEN = 400;

export interface ShownProps {
  readonly source: number;
  readonly shown: ShownText;
}

/** A text that may be cut, with a button that reads the rest of it from its blob. */
export function Shown({ source, shown }: ShownProps): JSX.Element {
  const { link } = useApp();
  const [more, setMore] = useState<{ readonly text: string; readonly rest: number } | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const { text, rest } = more ?? shown;
  const { ref } = shown;
  const readMore = (): void => {
    if (ref === null) return;
    const from = more === null ? 0 : more.text.length;
    link.ask('blob', { source, ref, from, limit: MORE_CHARS }).then(
      (part) => setMore({ text: (more?.text ?? '') + (part.text ?? '(not text)'), rest: part.rest }),
      (error: unknown) => setFault(error instanceof Error ? error.message : 'it cannot be read'),
    );
  };
  return (
    <div class="shown">
      <Lines text={text} />
      {rest > 0 && (
        <p class="note">
          {rest.toLocaleString('en')} more characters{' '}
          {ref !== null && (
            <button type="button" onClick={readMore}>
              show more
            </button>
          )}
        </p>
      )}
      {fault !== null && <p class="fault">{visible(fault)}</p>}
    </div>
  );
}

const MORE_CHARS = 65_536;

export function ShownWithFiles({
  source,
  shown,
}: {
  readonly source: number;
  readonly shown: ShownContent;
}): JSX.Element {
  return (
    <>
      <Shown source={source} shown={shown} />
      {shown.attachments.length > 0 && (
        <ul class="files" aria-label="attached files">
          {shown.attachments.map(({ ref, name, media_type, bytes }) => (
            <li key={ref}>
              <Said text={name ?? 'a file'} /> ({media_type}, {bytes.toLocaleString('en')} bytes)
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
