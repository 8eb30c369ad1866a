// Opens exported sessions: files that are chosen, or dropped anywhere on the page. They never leave the browser.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { type Signal, useSignal } from '@preact/signals';
import type { Refusal } from '../protocol.ts';
import { type App, refusalOf, useApp } from './app.ts';
import { RefusalNote } from './panel.tsx';
import { fragmentOf } from './route.ts';

async function openFile(app: App, file: File): Promise<void> {
  const { source } = await app.open({ kind: 'file', name: file.name, file });
  window.location.hash = fragmentOf({ screen: 'session', of: `file:${source}`, at: null });
}

function openAll(app: App, files: FileList | null, refused: Signal<Refusal | null>): void {
  refused.value = null;
  for (const file of files ?? []) {
    openFile(app, file).catch((error: unknown) => (refused.value = refusalOf(error)));
  }
}

/** Takes files that are dropped on any screen; a browser would leave the page for them. */
export function Drops(): JSX.Element | null {
  const app = useApp();
  const refused = useSignal<Refusal | null>(null);
  useEffect(() => {
    const over = (event: DragEvent): void => event.preventDefault();
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      openAll(app, event.dataTransfer?.files ?? null, refused);
    };
    document.addEventListener('dragover', over);
    document.addEventListener('drop', drop);
    return () => {
      document.removeEventListener('dragover', over);
      document.removeEventListener('drop', drop);
    };
  }, [app]);
  return refused.value === null ? null : <RefusalNote refusal={refused.value} />;
}

export function FileChooser(): JSX.Element {
  const app = useApp();
  const refused = useSignal<Refusal | null>(null);
  const take = (files: FileList | null): void => openAll(app, files, refused);
  return (
    <div class="chooser">
      <label>
        Open an exported session (JSON Lines), or drop it anywhere on this page:{' '}
        <input type="file" accept=".jsonl,.json,.ndjson" onChange={({ currentTarget }) => take(currentTarget.files)} />
      </label>
      {refused.value !== null && <RefusalNote refusal={refused.value} />}
    </div>
  );
}
