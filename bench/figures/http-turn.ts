// The same turn with engine and bridge as separate processes over HTTP, against the same floor.
import type { Figure } from '../figure.ts';
import { openOverHttp } from '../over-http.ts';
import { measureTurns } from './turn.ts';

const REACH_ONE = 0.35;
const REACH_HUNDRED = 0.25;

export const httpTurn: Figure = {
  name: 'http-turn',
  run: (bench) => measureTurns(bench, { where: 'over HTTP', open: openOverHttp, reach: [REACH_ONE, REACH_HUNDRED] }),
};
