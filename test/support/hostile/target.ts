// A served engine to attack: a journal in memory, blobs in files, as large blobs are only hashed beside the loop there.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ingress } from '../../../schemas/event.ts';
import { brand } from '../../../schemas/ids.ts';
import { openFileBlobs } from '../../../src/blobs/file-blobs.ts';
import { must } from '../../../src/client/must.ts';
import { startEngine } from '../../../src/engine/engine.ts';
import { openMemoryJournal } from '../../../src/journal/memory-journal.ts';
import { holding } from '../engine/holding.ts';
import { serveClient } from '../engine/serving.ts';
import { packageOf } from '../engine/world.ts';
import { testPackage } from '../tools.ts';
import type { Target } from './request.ts';

export interface ServedTarget extends Target {
  readonly port: number;
  close(): Promise<void>;
}

export async function serveTarget(): Promise<ServedTarget> {
  const directory = await mkdtemp(join(tmpdir(), 'refold-hostile-'));
  const blobs = await must(openFileBlobs(directory));
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs }));
  // The reports of the corpus are made under leases: without, they would be refused before they cost anything.
  const client = holding(engine.client);
  const served = await serveClient(client);
  let sessions = 0;

  const submit = (session: string, event: object): Promise<unknown> =>
    must(client.submit(brand(session), { events: [event as Ingress] }));

  async function generating(tools?: Parameters<Target['generating']>[0]): Promise<string> {
    sessions += 1;
    const session_id = brand<'SessionId'>(`h-${sessions}`);
    const tool_package = tools === undefined ? testPackage() : packageOf(tools);
    await must(client.createSession({ session_id, tool_package }));
    await submit(session_id, { kind: 'RunRequested', input: { text: 'go' } });
    return session_id;
  }

  return {
    client,
    port: served.port,
    generating,
    async called(tools, calls) {
      const session = await generating(tools);
      await submit(session, { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls });
      return session;
    },
    async close() {
      await served.close();
      await engine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
