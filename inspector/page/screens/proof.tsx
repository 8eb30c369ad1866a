// The verdicts of the proof, and what they are compared with.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { HeadGiven, Refusal } from '../../protocol.ts';
import { type SourceNow, refusalOf, useApp, useAsk } from '../app.ts';
import { Answered, Heading, RefusalNote } from '../panel.tsx';
import { into } from '../into.ts';
import { Said } from '../text.tsx';
import { VerdictLines } from '../verdict-lines.tsx';

export function Proof({ source }: { readonly source: SourceNow }): JSX.Element {
  const { link } = useApp();
  const again = useSignal(0);
  const asked = useAsk('verdicts', { source: source.source }, source.news + again.value);
  const refused = useSignal<Refusal | null>(null);
  const tell = (work: Promise<unknown>): void => {
    refused.value = null;
    work.then(
      () => (again.value += 1),
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
      <Kept source={source.source} tell={tell} />
      {source.can.blobs && (
        <button type="button" onClick={() => tell(link.ask('checkBlobs', { source: source.source }))}>
          check every blob
        </button>
      )}
      {refused.value !== null && <RefusalNote refusal={refused.value} />}
      <Proves />
    </>
  );
}

interface KeptProps {
  readonly source: number;
  /** Shows what comes of this work: new verdicts, or a refusal. */
  readonly tell: (work: Promise<unknown>) => void;
}

function Kept({ source, tell }: KeptProps): JSX.Element {
  const { link } = useApp();
  const give = (head: HeadGiven | null): void => tell(link.ask('giveHead', { source, head }));
  return (
    <section aria-label="compare with a head">
      <h2>What you kept</h2>
      <p class="note">
        A file can agree with itself and yet be written anew as a whole. Only something that you kept from before can
        show that: a chain value, or a checkpoint and the public key of its signer.
      </p>
      <ChainForm onGive={give} />
      <CheckpointForm onGive={(head) => tell(head.then((known) => link.ask('giveHead', { source, head: known })))} />
      <p>
        <button type="button" onClick={() => give(null)}>
          forget what I gave
        </button>
      </p>
    </section>
  );
}

function ChainForm({ onGive }: { readonly onGive: (head: HeadGiven) => void }): JSX.Element {
  const chain = useSignal('');
  const version = useSignal('');
  const give = (event: Event): void => {
    event.preventDefault();
    const at = /^\d+$/.test(version.value) ? { version: Number(version.value) } : {};
    onGive({ kind: 'chain', chain: chain.value.trim(), ...at });
  };
  return (
    <form class="filters" onSubmit={give}>
      <label>
        chain value <input type="text" size={72} value={chain.value} onInput={into(chain)} />
      </label>
      <label>
        after events (the last, if empty) <input type="text" size={8} value={version.value} onInput={into(version)} />
      </label>
      <button type="submit" disabled={chain.value.trim() === ''}>
        compare
      </button>
    </form>
  );
}

function CheckpointForm({ onGive }: { readonly onGive: (head: Promise<HeadGiven>) => void }): JSX.Element {
  const key = useSignal('');
  const headOf = async (file: File): Promise<HeadGiven> => {
    const signer = key.value.trim();
    return { kind: 'checkpoint', text: await file.text(), ...(signer === '' ? {} : { public_key: signer }) };
  };
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        public key (PEM) <textarea rows={3} cols={66} value={key.value} onInput={into(key)} />
      </label>
      <label>
        checkpoint or proof file{' '}
        <input
          type="file"
          onChange={({ currentTarget: { files } }) => {
            const file = files?.[0];
            if (file !== undefined) onGive(headOf(file));
          }}
        />
      </label>
    </form>
  );
}

const Proves = (): JSX.Element => (
  <section aria-label="what this proves">
    <h2>What this proves, and what it cannot</h2>
    <ul>
      <li>
        chain: every recorded event is the one that the chain was made with; one that is changed, left out or moved
        shows.
      </li>
      <li>fold: this browser decided everything again, and came to each recorded state.</li>
      <li>head: nobody has written the stream anew since you kept that value. Without it, its writer could have.</li>
      <li>blobs: the large texts and files are those that the events name.</li>
      <li>None of them says that the world was as the events say: what a tool reported is a report.</li>
    </ul>
  </section>
);
