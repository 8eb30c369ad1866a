// The texts of the turns of a run: shown while the model writes, completed from the record.
import type { Content, DeltaFrame } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { wholeText } from './contents.ts';
import type { RetractPart, TextPart } from './run-parts.ts';

type Texts = Iterable<TextPart | RetractPart>;

export interface TurnTexts {
  /** What the model writes now. */
  readonly written: (frame: DeltaFrame) => Texts;
  /** The answer of a turn is recorded: tells what of its text was not shown while it was written. */
  readonly recorded: (turn: number, content: Content | undefined) => Promise<Texts>;
  /** The turn has failed: what was shown of it does not count. */
  readonly failed: (turn: number) => Texts;
}

export function newTurnTexts(client: EngineClient): TurnTexts {
  let recordedTurn = 0;
  let shown = '';

  function* forget(turn: number): Texts {
    if (shown !== '') yield { type: 'retract', turn };
    shown = '';
  }

  return {
    *written({ turn, parts, retract }) {
      // What comes late is in the record already.
      if (turn <= recordedTurn) return;
      if (retract === true) yield* forget(turn);
      const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
      if (text === '') return;
      shown += text;
      yield { type: 'text', turn, text };
    },
    async recorded(turn, content) {
      const text = content === undefined ? '' : await wholeText(client, content);
      const parts: (TextPart | RetractPart)[] = text.startsWith(shown) ? [] : [...forget(turn)];
      if (text.length > shown.length) parts.push({ type: 'text', turn, text: text.slice(shown.length) });
      shown = '';
      recordedTurn = turn;
      return parts;
    },
    failed: forget,
  };
}
