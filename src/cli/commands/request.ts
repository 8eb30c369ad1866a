// `refold request`: writes the request of a recorded turn again, and compares it with what was sent.
import { paint } from '../../shown/paint.ts';
import type { EffectOfKind } from '../../../schemas/effect.ts';
import type { EventOfKind, IngressEvent } from '../../../schemas/event.ts';
import type { Digest, Position, SessionId } from '../../../schemas/ids.ts';
import type { Exchange } from '../../../schemas/model-turn.ts';
import { tokenFile } from '../../client/token-file.ts';
import { effects } from '../../core/effects.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import { foldSource, sessionSource } from '../audit/source.ts';
import { CommandFailure, type Output } from '../output.ts';
import { visible } from '../../shown/visible.ts';
import { rebuildInBridge } from '../processes.ts';
import { withEngineProcess } from '../with-engine-process.ts';

export interface RequestCommand {
  readonly dataDir: string;
  readonly session: SessionId;
  readonly turn: number;
  /** The last run that has this turn when absent. */
  readonly run?: string;
  /** The request of the compaction before the turn, not that of its generate. */
  readonly compaction?: boolean;
}

/** As the bridge answers (bridge/generate/rebuild-request.ts). */
interface Rebuilt {
  readonly comparison: 'equal' | 'different' | 'not_comparable';
  readonly why: string | null;
  readonly encoder: string | null;
  readonly recorded: Digest | null;
  readonly rebuilt: Digest | null;
  readonly path: string | null;
  readonly body: string | null;
}

export async function requestCommand(command: RequestCommand, output: Output): Promise<number> {
  const { dataDir, session, turn } = command;
  return await withEngineProcess(dataDir, async ({ client, url }) => {
    let answer: Answer | null = null;
    await foldSource(sessionSource(client, session), undefined, (folded) => {
      answer = answerIn(folded, command) ?? answer;
    });
    // Assigned in the callback.
    const found = answer as Answer | null;
    if (found === null) throw noSuchTurn(command);
    const { position, effect, exchange } = found;
    const asked = { effect, ...(exchange === undefined ? {} : { exchange }) };
    const engine = { url, tokenFile: tokenFile(dataDir, 'bridge') };
    const rebuilt = (await rebuildInBridge(engine, asked)) as unknown as Rebuilt;
    output.object({
      session_id: session,
      run_id: effect.run_id,
      turn,
      position,
      exchange: exchange ?? null,
      ...rebuilt,
    });
    for (const line of lines(found, rebuilt)) output.line(line);
    return rebuilt.comparison === 'different' ? 1 : 0;
  });
}

/** An answer of a model, with what was owed before it. */
interface Answer {
  readonly position: Position;
  readonly effect: EffectOfKind<'llm.compact' | 'llm.generate'>;
  readonly exchange: Exchange | undefined;
}

function answerIn({ position, event, before }: FoldedEvent, command: RequestCommand): Answer | null {
  const { turn, run, compaction = false } = command;
  if (!isAnswer(event) || event.turn !== turn || (run !== undefined && event.run_id !== run)) return null;
  const kind = event.kind === 'ContextCompacted' || event.kind === 'CompactFailed' ? 'llm.compact' : 'llm.generate';
  if ((kind === 'llm.compact') !== compaction) return null;
  const effect = effects(before).find((owed) => owed.kind === kind);
  return effect?.kind === 'llm.generate' || effect?.kind === 'llm.compact'
    ? { position, effect, exchange: event.exchange }
    : null;
}

const ANSWERS = ['ToolCallsObserved', 'GenerateFailed', 'ContextCompacted', 'CompactFailed'] as const;

const isAnswer = (event: IngressEvent): event is EventOfKind<(typeof ANSWERS)[number]> =>
  (ANSWERS as readonly string[]).includes(event.kind);

function noSuchTurn({ session, turn, run, compaction = false }: RequestCommand): CommandFailure {
  const where = run === undefined ? session : `${run} of ${session}`;
  const message = compaction
    ? `${where} has no answered compaction in turn ${turn}. To see its compactions: refold explain ${session} --compactions`
    : `${where} has no answer of a model in turn ${turn}. To see its turns: refold timeline ${session}`;
  return new CommandFailure('unknown_turn', message);
}

function lines({ position, effect, exchange }: Answer, rebuilt: Rebuilt): readonly string[] {
  const { comparison, why, path, body, recorded, rebuilt: digest, encoder } = rebuilt;
  const colour = comparison === 'equal' ? paint.green : comparison === 'different' ? paint.red : paint.yellow;
  const target = exchange?.target === undefined ? '' : ` to ${exchange.target.base_url}${path ?? ''}`;
  return [
    paint.dim(
      `${effect.run_id}, ${effect.kind === 'llm.compact' ? 'compaction before ' : ''}turn ${effect.turn}, answered at position ${position}${visible(target)}`,
    ),
    ...(body === null ? [] : [visible(body)]),
    `${colour(comparison)}${why === null ? '' : `: ${visible(why)}`}`,
    ...(recorded === null ? [] : [paint.dim(`recorded ${recorded}  ${exchange?.encoder ?? ''}`)]),
    ...(digest === null ? [] : [paint.dim(`rebuilt  ${digest}  ${encoder ?? ''}`)]),
  ];
}
