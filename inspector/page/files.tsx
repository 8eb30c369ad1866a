// Opens exported sessions: files that are chosen, or dropped anywhere on the page. They never leave the browser.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Refusal } from '../protocol.ts';
import { type App, refusalOf, useApp } from './app.ts';
import { RefusalNote } from './panel.tsx';
import { fragmentOf } from './route.ts';

export async function openFile(app: App, file: File): Promise<void> {
  const { source } = await app.open({ kind: 'file', name: file.name, file });
  window.location.hash = fragmentOf({ screen: 'session', of: `file:${source}`, at: null });
}

export function FileChooser(): JSX.Element {
  const app = useApp();
  const refused = useSignal<Refusal | null>(null);
  const take = (files: FileList | null): void => {
    for (const file of files ?? []) {
      refused.value = null;
      openFile(app, file).catch((error: unknown) => (refused.value = refusalOf(error)));
    }
  };
  useEffect(() => {
    const over = (event: DragEvent): void => event.preventDefault();
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      take(event.dataTransfer?.files ?? null);
    };
    document.addEventListener('dragover', over);
    document.addEventListener('drop', drop);
    return () => {
      document.removeEventListener('dragover', over);
      document.removeEventListener('drop', drop);
    };
  }, []);
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
