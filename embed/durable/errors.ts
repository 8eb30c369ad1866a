// What the core tells the loop of a framework when it cannot go on: each error says whose turn it is, and what to do.

/** The prompt of a turn is not the one that is recorded: the program has changed, or two runs share a name. */
export class PromptDiffers extends Error {
  override readonly name = 'PromptDiffers';
  /** The id of the session. */
  readonly session: string;
  /** Counts from 1. */
  readonly turn: number;
  /** Of the first message that differs, in the prompt that was given; it may be the one after the last. */
  readonly index: number;
  /** Its role; null when the recorded prompt has a message here, and the given one has none. */
  readonly role: string | null;

  constructor(session: string, { turn, index, role, recorded }: Difference) {
    const what = role === null ? 'is missing' : recorded ? `(${role}) differs from the record` : `(${role}) is new`;
    super(
      `the prompt of turn ${turn} in session ${session} is not the recorded one: message ${index} ${what}. ` +
        'Send the recorded prompt again to go on, cancel() the run, or give another `run` to begin a new one',
    );
    this.session = session;
    this.turn = turn;
    this.index = index;
    this.role = role;
  }
}

/** The first message in which two prompts differ. */
export interface Difference {
  /** The number of the turn, from 1. */
  readonly turn: number;
  /** The index of the message in the prompt that was given, from 0; the length of that prompt when it is too short. */
  readonly index: number;
  /** The role of that message; null when the prompt that was given is too short. */
  readonly role: string | null;
  /** The recorded prompt has a message at this index. */
  readonly recorded: boolean;
}

/** Another program, or another part of this one, runs the session: only one loop at a time may. */
export class SessionInUse extends Error {
  override readonly name = 'SessionInUse';
  /** The id of the session. */
  readonly session: string;
  /** The owner that the engine names: the bridge of another process. Null when the engine was not asked. */
  readonly holder: string | null;

  constructor(session: string, why: string, { cause, holder = null }: InUseBy = {}) {
    super(`session ${session} is in use: ${why}`, { cause });
    this.session = session;
    this.holder = holder;
  }
}

/** What is known of who uses a session. */
export interface InUseBy {
  /** The error that said so. */
  readonly cause?: unknown;
  /** The name of its bridge. */
  readonly holder?: string | null;
}

/** The loop asks for another turn of a run that is over. */
export class RunEnded extends Error {
  override readonly name = 'RunEnded';
  /** The id of the session. */
  readonly session: string;
  /** The id of the run in its session, such as `run-1`. */
  readonly run: string;
  /** How it ended: `completed`, `failed`, `cancelled` or `interrupted`. */
  readonly outcome: string;
  /** Why it did not complete; null when it did. */
  readonly code: string | null;

  constructor(session: string, { run_id, outcome, code, message }: EndOfRun) {
    const why = message === null ? '' : `: ${message}`;
    super(
      `${run_id} of session ${session} is over (${code ?? outcome})${why}. Give another \`run\` to begin a new one`,
    );
    this.session = session;
    this.run = run_id;
    this.outcome = outcome;
    this.code = code;
  }
}

/** How a run ended, as its last event says. */
export interface EndOfRun {
  /** The id of the run in its session, such as `run-1`. */
  readonly run_id: string;
  /** `completed`, `failed`, `cancelled` or `interrupted`. */
  readonly outcome: string;
  /** Why it did not complete, as a stable code; null when it did. */
  readonly code: string | null;
  /** Why it did not complete, for people; null when it did. */
  readonly message: string | null;
}

/** A call has no result to return: it failed, was denied, was cancelled, or has an unknown outcome. */
export class CallNotSucceeded extends Error {
  override readonly name = 'CallNotSucceeded';
  /** The id that the model gave the call. */
  readonly call: string;
  /** How it ended: `failed`, `rejected`, `denied`, `cancelled`, or `unknown`. */
  readonly status: string;
  /** Why it did not succeed, as a stable code such as `timeout`; null when the record has none. */
  readonly code: string | null;

  /** The message is what the model is to read. */
  constructor(call: string, status: string, code: string | null, message: string) {
    super(message);
    this.call = call;
    this.status = status;
    this.code = code;
  }
}

/** A call as it is recorded, or as a loop brings it. */
export interface NamedCall {
  /** The name of the tool. */
  readonly tool: string;
  /** The arguments as JSON text. */
  readonly arguments: string;
}

/** The two calls of one id. */
export interface DifferentCalls {
  /** The one on record. */
  readonly recorded: NamedCall;
  /** The one that the loop brings. */
  readonly given: NamedCall;
}

/** The loop brings another call under an id than the one on record, which was planned and approved: nothing runs. */
export class CallDiffers extends Error {
  override readonly name = 'CallDiffers';
  /** The id of the session. */
  readonly session: string;
  /** The id that the recorded turn gave the call. */
  readonly call: string;
  /** What is on record under this id. */
  readonly recorded: NamedCall;
  /** What the loop brought. */
  readonly given: NamedCall;

  constructor(session: string, call: string, { recorded, given }: DifferentCalls) {
    super(
      `call "${call}" of session ${session} is ${told(recorded)} on record, and the loop brings ${told(given)}: it was not run. ` +
        'Pass on the tool and the arguments of the recorded answer unchanged',
    );
    this.session = session;
    this.call = call;
    this.recorded = recorded;
    this.given = given;
  }
}

const TOLD_CHARS = 256;

const told = ({ tool, arguments: text }: NamedCall): string =>
  `${tool} ${text.length > TOLD_CHARS ? `${text.slice(0, TOLD_CHARS)}…` : text}`.toWellFormed();
