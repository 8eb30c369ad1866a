// Where the engine of a program is: in its own process, over a data directory, or elsewhere, behind an address.

/** Give `dataDir`, or `engine` with its `token`. */
export interface EnginePlace {
  /**
   * The engine runs in this process, and everything is recorded in this directory; created when it does not exist. Only one
   * process at a time may open it.
   */
  readonly dataDir?: string;
  /**
   * With `dataDir`: also serves the engine on loopback, on the given port or any free one, with the tokens of the directory,
   * and publishes the address there. Then `refold approvals`, `refold approve` and all other commands use this engine.
   */
  readonly serve?: boolean | { readonly port: number };
  /**
   * The address of a running engine, such as `http://127.0.0.1:4519`: only the bridge runs in this process. Several workers
   * may share one engine. Each takes over what another one leaves, so all of them must have the same tools and model.
   */
  readonly engine?: string | URL;
  /** The token of `engine`, of the scope `operator`: in the file `tokens/operator` of its data directory. */
  readonly token?: string;
  /**
   * Where the bridge notes what it starts, so that the next process on this directory reports what a killed one had done;
   * `bridges` in the data directory by default. With `engine` and without it, such a call ends as `outcome_unknown`.
   */
  readonly stateDir?: string;
}

export type PlacedEngine =
  | { readonly dataDir: string; readonly port: number | null }
  | { readonly url: string; readonly token: string };

/** What is wrong with the options that say where the engine is. */
export type EnginePlaceProblem = 'both' | 'neither' | 'no_token' | 'not_served';

/** The options do not say where the engine is: thrown before anything is opened. */
export class EnginePlaceError extends TypeError {
  override readonly name = 'EnginePlaceError';
  /** `both` and `neither` of `dataDir` and `engine`; `no_token` for `engine`; `not_served`: `serve` is for `dataDir`. */
  readonly problem: EnginePlaceProblem;

  constructor(problem: EnginePlaceProblem) {
    super(PROBLEMS[problem]);
    this.problem = problem;
  }
}

const PROBLEMS: Readonly<Record<EnginePlaceProblem, string>> = {
  both: 'dataDir and engine exclude each other: give dataDir to run an engine here, or engine to use a running one',
  neither: 'there is no engine: give dataDir to run one in this process, or engine and token to use a running one',
  no_token: 'engine needs a token: give the content of tokens/operator in the data directory of that engine',
  not_served: 'serve is for an engine of this process: give dataDir instead of engine, or leave serve out',
};

/** Throws an {@link EnginePlaceError} when the options exclude each other, or one is missing. */
export function placeOf({ dataDir, engine, token, serve = false }: EnginePlace): PlacedEngine {
  if (engine === undefined) {
    if (dataDir === undefined) throw new EnginePlaceError('neither');
    return { dataDir, port: serve === false ? null : serve === true ? 0 : serve.port };
  }
  if (dataDir !== undefined) throw new EnginePlaceError('both');
  if (serve !== false) throw new EnginePlaceError('not_served');
  if (token === undefined) throw new EnginePlaceError('no_token');
  return { url: String(engine), token };
}
