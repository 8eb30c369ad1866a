// A recorded model: JSON Lines with one turn each, selected by the number of the turn within its run.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type TypeOf, decode, integer, json, list, shape, text } from '../../schemas/codec.ts';
import { parseJson } from '../../schemas/json.ts';
import { BODY_BYTES_MAX, CALLS_PER_BATCH_MAX } from '../../schemas/limits.ts';
import { Usage } from '../../schemas/run.ts';
import { type GenerateReply, type Provider, ProviderError } from './provider.ts';

const RecordedCall = shape(
  'RecordedCall',
  { name: text('name', { max: 256 }) },
  { id: text('id', { max: 256 }), arguments: json, arguments_text: text('arguments_text', { max: BODY_BYTES_MAX }) },
);

/** One line of a recording. `delay_ms` is how long the model took; a replay does not wait. */
const RecordedTurn = shape(
  'RecordedTurn',
  { turn: integer('turn', 1) },
  {
    content: text('content', { max: BODY_BYTES_MAX }),
    calls: list(RecordedCall, CALLS_PER_BATCH_MAX),
    usage: Usage,
    delay_ms: integer('delay_ms', 0),
  },
);
type RecordedTurn = TypeOf<typeof RecordedTurn>;

/** Throws an Error that names the invalid line when the text is not a recording. */
export function recordedProvider(jsonLines: string): Provider {
  const turns = readTurns(jsonLines);
  return {
    async generate({ turn }, signal) {
      if (signal.aborted) throw new ProviderError('cancelled', 'the request was cancelled');
      const recorded = turns.get(turn);
      if (recorded !== undefined) return replyOf(recorded);
      throw new ProviderError('recording_exhausted', `the recording has no turn ${turn}; it has ${turns.size} turns`);
    },
  };
}

function readTurns(jsonLines: string): ReadonlyMap<number, RecordedTurn> {
  const turns = new Map<number, RecordedTurn>();
  for (const [index, line] of jsonLines.split('\n').entries()) {
    if (line.trim() === '') continue;
    const fault = (message: string): Error => new Error(`recording, line ${index + 1}: ${message}`);
    const parsed = parseJson(line);
    if (isLeft(parsed)) throw fault(parsed.left.message);
    const decoded = decode(RecordedTurn, parsed.right);
    if (isLeft(decoded)) throw fault(`at "${decoded.left.path}": ${decoded.left.message}`);
    if (turns.has(decoded.right.turn)) throw fault(`turn ${decoded.right.turn} appears twice`);
    turns.set(decoded.right.turn, decoded.right);
  }
  return turns;
}

const replyOf = ({ content, calls = [], usage }: RecordedTurn): GenerateReply => ({
  ...(content === undefined ? {} : { content }),
  calls,
  ...(usage === undefined ? {} : { usage }),
});
