// Writes a journal of layout 1: every event is one record, and the index holds its whole id.
import { Encoder } from 'cbor-x';
import { Level } from 'level';
import type { SessionId } from '../../../schemas/ids.ts';
import type { JournalRecord } from '../../../src/journal/journal.ts';

const cbor = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false });

interface Put {
  readonly type: 'put';
  readonly key: Buffer;
  readonly value: Uint8Array;
}

export interface Layout1Writer {
  create(session: SessionId, genesis: string): Promise<void>;
  append(session: SessionId, records: readonly JournalRecord[], owing: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Opens or creates the journal. `versions` is kept from one opening to the next. */
export async function openLayout1(directory: string, versions: Map<SessionId, number>): Promise<Layout1Writer> {
  const database = new Level<Buffer, Uint8Array>(directory, { keyEncoding: 'buffer', valueEncoding: 'view' });
  await database.open();
  const put = (key: string | Buffer, value: unknown): Put => ({
    type: 'put',
    key: Buffer.from(key as string, 'latin1'),
    value: cbor.encode(value),
  });
  const write = (puts: readonly Put[]): Promise<void> => database.batch([...puts], { sync: true });
  return {
    create: async (session, genesis) => {
      versions.set(session, 0);
      await write([put(`g${session}`, genesis), put(`h${session}`, [0, false]), put('m', [1, versions.size])]);
    },
    append: async (session, records, owing) => {
      const from = versions.get(session) ?? 0;
      const puts = records.flatMap((record, index) => {
        const at = Buffer.alloc(8);
        at.writeBigUInt64BE(BigInt(from + index));
        return [
          put(Buffer.concat([Buffer.from(`r${session}\0`), at]), recordItems(record, from + index)),
          put(`i${session}\0${record.event_id}`, from + index),
        ];
      });
      versions.set(session, from + records.length);
      await write([...puts, put(`h${session}`, [from + records.length, owing])]);
    },
    close: () => database.close(),
  };
}

/** Every third record has the form of the oldest ones: with the id itself, and with its two digests as two items. */
function recordItems({ event, event_id, state_digest, chain }: JournalRecord, position: number): readonly unknown[] {
  const bytesOf = (digest: string): Buffer => Buffer.from(digest.slice('sha256:'.length), 'hex');
  if (position % 3 === 2) return [event_id, event, bytesOf(state_digest), bytesOf(chain)];
  const offset = event.indexOf(`"event_id":${JSON.stringify(event_id)}`);
  return [offset === -1 ? event_id : offset, event, Buffer.concat([bytesOf(state_digest), bytesOf(chain)])];
}
