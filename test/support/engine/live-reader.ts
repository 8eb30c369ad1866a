// Reads a session live and says in short what came: `commit 3`, `turn 1: Hello`, `retract turn 1`.
import type { CommitRecord } from '../../../schemas/record.ts';
import type { DeltaFrame } from '../../../schemas/wire.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { SESSION } from './world.ts';

export interface LiveReader {
  /** Everything up to the item that says this; frames that follow each other are joined, as a slow reader gets them. */
  until(what: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

export function liveReader(client: EngineClient, from = 0): LiveReader {
  const ended = new AbortController();
  const items = client.followLive(SESSION, { from, signal: ended.signal })[Symbol.asyncIterator]();
  return {
    async until(what) {
      const said: string[] = [];
      while (said.at(-1)?.includes(what) !== true) {
        const next = await items.next();
        if (next.done === true) throw new Error(`the stream ended before "${what}", after ${said.join(', ')}`);
        const text = wordsOf(next.value);
        const last = said.at(-1);
        if (next.value.kind === 'delta' && last?.startsWith('turn') === true)
          said[said.length - 1] = last + textOf(next.value);
        else said.push(text);
      }
      return said;
    },
    async close() {
      ended.abort();
      await items.return?.();
    },
  };
}

const textOf = ({ parts }: DeltaFrame): string => parts.map(({ text }) => text).join('');

const wordsOf = (item: CommitRecord | DeltaFrame): string => {
  if (item.kind === 'commit') return `commit ${item.position}`;
  return item.retract === true ? `retract turn ${item.turn}` : `turn ${item.turn}: ${textOf(item)}`;
};
