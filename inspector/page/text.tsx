// Foreign text on the page: always a text node, with every control and direction mark shown as what it is.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { visible } from '../../src/shown/visible.ts';
import type { BlobText, ShownContent, ShownText } from '../protocol.ts';
import { useApp } from './app.ts';
import { Pager } from './panel.tsx';

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

/** A text that may be cut; the rest of it is read from its blob, a page at a time: a browser is slow with a line of a megabyte. */
export function Shown({ source, shown }: ShownProps): JSX.Element {
  const { link } = useApp();
  const [part, setPart] = useState<BlobText | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const { ref, rest } = shown;
  const read = (from: number): void => {
    if (ref === null) return;
    link
      .ask('blob', { source, ref, from, limit: PART_CHARS })
      .then(setPart, (error: unknown) => setFault(error instanceof Error ? error.message : 'it cannot be read'));
  };
  const text = part === null ? shown.text : (part.text ?? '(not text)');
  return (
    <div class="shown">
      <Lines text={text} />
      {part === null && rest > 0 && (
        <p class="note">
          {rest.toLocaleString('en')} more characters{' '}
          {ref !== null && (
            <button type="button" onClick={() => read(0)}>
              show more
            </button>
          )}
        </p>
      )}
      {part !== null && (
        <Pager
          first={part.from}
          shown={text.length}
          total={part.from + text.length + part.rest}
          size={PART_CHARS}
          onFrom={read}
        />
      )}
      {fault !== null && <p class="fault">{visible(fault)}</p>}
    </div>
  );
}

/** Characters of one page of a long text. */
const PART_CHARS = 16_384;

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
