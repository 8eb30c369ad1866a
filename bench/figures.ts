// Every figure, the most important first.
import type { Figure } from './figure.ts';
import { atRest } from './figures/at-rest.ts';
import { batches } from './figures/batches.ts';
import { deltas } from './figures/deltas.ts';
import { decode } from './figures/decode.ts';
import { fold } from './figures/fold.ts';
import { httpTurn } from './figures/http-turn.ts';
import { journals } from './figures/journals.ts';
import { mcp } from './figures/mcp.ts';
import { memory } from './figures/memory.ts';
import { path } from './figures/path.ts';
import { planner } from './figures/planner.ts';
import { position } from './figures/position.ts';
import { readers } from './figures/readers.ts';
import { replay } from './figures/replay.ts';
import { restart } from './figures/restart.ts';
import { sharedJournal } from './figures/shared-journal.ts';
import { startup } from './figures/startup.ts';
import { turn } from './figures/turn.ts';

export const FIGURES: readonly Figure[] = [
  planner,
  fold,
  turn,
  path,
  httpTurn,
  position,
  replay,
  batches,
  restart,
  atRest,
  startup,
  memory,
  journals,
  sharedJournal,
  deltas,
  readers,
  mcp,
  decode,
];
