// The verdicts of the proof, and what they are compared with.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { HeadGiven, Refusal } from '../../protocol.ts';
import { type SourceNow, refusalOf, useApp, useAsk } from '../app.ts';
import { Answered, Heading, RefusalNote } from '../panel.tsx';
import { Said } from '../text.tsx';
import { VerdictLines } from '../verdict-lines.tsx';

export function Proof({ source }: { readonly source: SourceNow }): JSX.Element {
  const { link } = useApp();
  const again = useSignal(0);
  const asked = useAsk('verdicts', { source: source.source }, source.news + again.value);
  const chain = useSignal('');
  const version = useSignal('');
  const key = useSignal('');
  const refused = useSignal<Refusal | null>(null);
  const tell = (work: Promise<unknown>): void => {
    refused.value = null;
    work.then(
      () => (again.value += 1),
      (error: unknown) => (refused.value = refusalOf(error)),
    );
  };
  const give = (head: HeadGiven | null): void => tell(link.ask('giveHead', { source: source.source, head }));
  const giveChain = (): void => {
    const at = /^\d+$/.test(version.value) ? { version: Number(version.value) } : {};
    give({ kind: 'chain', chain: chain.value.trim(), ...at });
  };
  const giveFile = (file: File | undefined): void => {
    file?.text().then(
      (text) =>
        give({ kind: 'checkpoint', text, ...(key.value.trim() === '' ? {} : { public_key: key.value.trim() }) }),
      (error: unknown) => (refused.value = refusalOf(error)),
    );
  };
  return (
    <>
      <Heading>
        Proof – <Said text={source.name} />
      </Heading>
      <Answered asked={asked} waiting="reading the verdicts …">
        {(verdicts) => <VerdictLines verdicts={verdicts} />}
      </Answered>
      <section aria-label="compare with a head">
        <h2>What you kept</h2>
        <p class="note">
          A file can agree with itself and yet be written anew as a whole. Only something that you kept from before can
          show that: a chain value, or a checkpoint and the public key of its signer.
        </p>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault();
            giveChain();
          }}
        >
          <label>
            chain value{' '}
            <input
              type="text"
              size={72}
              value={chain.value}
              onInput={({ currentTarget: { value } }) => (chain.value = value)}
            />
          </label>
          <label>
            after events (the last, if empty){' '}
            <input
              type="text"
              size={8}
              value={version.value}
              onInput={({ currentTarget: { value } }) => (version.value = value)}
            />
          </label>
          <button type="submit" disabled={chain.value.trim() === ''}>
            compare
          </button>
        </form>
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <label>
            public key (PEM){' '}
            <textarea
              rows={3}
              cols={66}
              value={key.value}
              onInput={({ currentTarget: { value } }) => (key.value = value)}
            />
          </label>
          <label>
            checkpoint or proof file{' '}
            <input type="file" onChange={({ currentTarget }) => giveFile(currentTarget.files?.[0])} />
          </label>
          <button type="button" onClick={() => give(null)}>
            forget what I gave
          </button>
        </form>
      </section>
      {source.can.blobs && (
        <button type="button" onClick={() => tell(link.ask('checkBlobs', { source: source.source }))}>
          check every blob
        </button>
      )}
      {refused.value !== null && <RefusalNote refusal={refused.value} />}
      <section aria-label="what this proves">
        <h2>What this proves, and what it cannot</h2>
        <ul>
          <li>
            chain: every recorded event is the one that the chain was made with; one that is changed, left out or moved
            shows.
          </li>
          <li>fold: this browser decided everything again, and came to each recorded state.</li>
          <li>
            head: nobody has written the stream anew since you kept that value. Without it, its writer could have.
          </li>
          <li>blobs: the large texts and files are those that the events name.</li>
          <li>None of them says that the world was as the events say: what a tool reported is a report.</li>
        </ul>
      </section>
    </>
  );
}
