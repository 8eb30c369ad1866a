// Writes the answers of a stream. Short ones are sent at once, and those of one turn together; long ones go in parts, one answer
// at a time and as fast as they are read. What waits for a reader that takes nothing is bounded.
import type { Socket } from 'node:net';
import { FRAMES_UNREAD_BYTES_MAX, FRAME_PART_CHARS } from '../../../schemas/limits.ts';
import { encodeFrame } from '../../client/frames/frame-codec.ts';
import { pause } from '../../turns.ts';

export interface AnswerWriter {
  /** Sends JSON in a frame of `{"id":…,<name>:…}`, with a status when it is the answer. */
  send(id: number, parts: Iterable<string>, as: { readonly status: number } | 'pushed'): Promise<void>;
  frame(text: string): void;
}

/** `onStalled`: called when more waits than may. */
export function newAnswerWriter(socket: Socket, onStalled: () => void): AnswerWriter {
  let corked = false;
  /** The long answers, one after the other. */
  let long: Promise<void> = Promise.resolve();

  function frame(text: string): void {
    if (socket.destroyed) return;
    if (!corked) {
      corked = true;
      socket.cork();
      process.nextTick(() => {
        corked = false;
        socket.uncork();
      });
    }
    socket.write(encodeFrame(text));
    if (socket.writableLength > FRAMES_UNREAD_BYTES_MAX) onStalled();
  }

  const drained = (): Promise<void> | null =>
    !socket.writableNeedDrain || socket.destroyed
      ? null
      : new Promise((resolve) => {
          const go = (): void => {
            socket.off('drain', go).off('close', go);
            resolve();
          };
          socket.on('drain', go).on('close', go);
        });

  async function sendLong(id: number, first: string, rest: Iterator<string>): Promise<void> {
    let text = first;
    for (let next: IteratorResult<string> | null = null; next?.done !== true; next = rest.next()) {
      if (socket.destroyed) return;
      if (next !== null) text += next.value;
      for (; text.length >= FRAME_PART_CHARS; text = text.slice(FRAME_PART_CHARS)) {
        await drained();
        await pause();
        frame(`{"id":${id},"part":${JSON.stringify(text.slice(0, FRAME_PART_CHARS))}}`);
      }
    }
    frame(`{"id":${id},"part":${JSON.stringify(text)}}`);
  }

  return {
    frame,
    async send(id, parts, as) {
      const all = parts[Symbol.iterator]();
      let text = '';
      let next = all.next();
      for (; next.done !== true && text.length < FRAME_PART_CHARS; next = all.next()) text += next.value;
      const isShort = next.done === true && text.length < FRAME_PART_CHARS;
      const end = as === 'pushed' ? '"pushed":null' : `"status":${as.status}`;
      if (isShort) {
        frame(as === 'pushed' ? `{"id":${id},"pushed":${text}}` : `{"id":${id},${end},"body":${text}}`);
        return;
      }
      const begun = next.done === true ? text : text + next.value;
      const before = long;
      const own = async (): Promise<void> => {
        await before;
        await sendLong(id, begun, all);
        frame(`{"id":${id},${end}}`);
      };
      long = own();
      await long;
    },
  };
}
