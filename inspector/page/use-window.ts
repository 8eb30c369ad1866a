// The rows around what is seen of a long list: asked for in blocks, and a few blocks are kept.
import { useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Row } from '../protocol.ts';
import { type SourceNow, useApp } from './app.ts';

const BLOCK = 200;
const BLOCKS_MAX = 24;

export interface RowWindow {
  /** Says which rows are drawn. */
  readonly show: (first: number, count: number) => void;
  /** Null while it is on its way. */
  readonly at: (position: number) => Row | null;
}

export function useWindow({ source }: SourceNow, total: number): RowWindow {
  const { link } = useApp();
  const blocks = useRef(new Map<number, readonly Row[] | null>());
  const of = useRef(source);
  const drawn = useSignal(0);
  // Another source has other rows.
  if (of.current !== source) {
    of.current = source;
    blocks.current = new Map();
  }

  function read(block: number): void {
    const known = blocks.current;
    // The last block of a stream that grows is read again.
    const wanted = Math.min(BLOCK, total - block * BLOCK);
    const rows = known.get(block);
    if (rows === null || (rows !== undefined && rows.length >= wanted)) return;
    known.set(block, rows ?? null);
    link.ask('rows', { source, from: block * BLOCK, limit: BLOCK }).then(
      (answer) => keep(known, block, answer.rows),
      () => known.delete(block),
    );
  }

  function keep(known: Map<number, readonly Row[] | null>, block: number, rows: readonly Row[]): void {
    known.delete(block);
    known.set(block, rows);
    const [oldest] = known.keys();
    if (known.size > BLOCKS_MAX && oldest !== undefined) known.delete(oldest);
    drawn.value += 1;
  }

  // Reading it here draws the list again when rows arrive.
  void drawn.value;
  return {
    show(first, count) {
      if (count === 0) return;
      for (let block = Math.floor(first / BLOCK); block * BLOCK < first + count; block += 1) read(block);
    },
    at: (position) => blocks.current.get(Math.floor(position / BLOCK))?.[position % BLOCK] ?? null,
  };
}
