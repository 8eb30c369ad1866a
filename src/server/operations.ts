// What operators and their tools ask of an engine process: whether it lives, whether it is ready, and its figures. The first
// two need no token and no known Host, because probes have neither; they say nothing about any session.
import { type Either, isLeft, left } from 'fp-ts/lib/Either.js';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { ReloadedCatalog } from '../../schemas/wire.ts';
import { OPEN_SHAPES } from './api/open-shapes.ts';

export interface Operations {
  /** Why the engine takes no work now: it drains, or storage does not take writes. */
  ready(): Promise<Either<Rejection, void>>;
  /** The figures, in Prometheus text format 0.0.4. */
  metrics(): string;
  /** Reads the catalog again; absent in a process without one. */
  reloadCatalog?(): Promise<Either<Rejection, ReloadedCatalog>>;
}

/** Answers `/healthz` and `/readyz`; null for any other path. `operations` is null while the engine opens. */
export async function answerProbe(path: string, operations: Operations | null): Promise<Response | null> {
  if (path === OPEN_SHAPES.live.at) return Response.json({ live: true });
  if (path !== OPEN_SHAPES.ready.at) return null;
  if (operations === null) return notReady('opening', 'the engine is opening its data directory');
  const ready = await operations.ready();
  if (!isLeft(ready)) return Response.json({ ready: true });
  // Messages of storage may name paths of the machine, so only the code is told without a token.
  return notReady(ready.left.code, 'the engine says why on its output');
}

const notReady = (reason: string, detail: string): Response =>
  Response.json({ ready: false, reason, detail }, { status: 503 });

export const metricsResponse = (operations: Operations): Response =>
  new Response(operations.metrics(), { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });

export const reloadedCatalog = async (
  operations: Operations | undefined,
): Promise<Either<Rejection, ReloadedCatalog>> => (await operations?.reloadCatalog?.()) ?? left(NO_CATALOG);

const NO_CATALOG = reject('not_found', '', 'this engine has no catalog; start it with --catalog PATH');
