// An agent in one call: an engine and a bridge, one's own tools, and runs that survive the process.
import { type Executor, type Provider, systemClock } from '../../bridge/index.ts';
import type { ConsentPolicy, RunConfigPatch, ToolPackage } from '../../schemas/index.ts';
import { CONSENT_PRESETS, type ConsentPreset } from '../../src/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { type SessionSetup, beginRun, chooseSession } from '../runs/begin-run.ts';
import { storeText } from '../runs/contents.ts';
import type { EnginePlace } from '../runs/engine-place.ts';
import { type Run, holdRun } from '../runs/live-run.ts';
import { type Local, type LocalPorts, openLocal } from '../runs/open-local.ts';
import { type Answer, type Question, type QuestionAddress, answerQuestion, openQuestions } from '../runs/questions.ts';
import { renewTools } from '../runs/renew-tools.ts';
import { toolPackageOf, toolExecutor } from '../tools/tool-executor.ts';
import type { Tool } from '../tools/tool.ts';
import { type ModelName, openModel } from './model.ts';

/** Give `dataDir`, or `engine` with its `token`; and a model. Everything else has a default. */
export interface AgentOptions extends LocalPorts, EnginePlace {
  /** `anthropic:claude-…`, with the key in the environment; or a provider of your own. */
  readonly model: ModelName | Provider;
  /** What `tool()` made; none by default. */
  readonly tools?: readonly Tool[];
  /** The system prompt. */
  readonly instructions?: string;
  /** Which calls ask a person, in sessions that are made from now on: a preset or a policy. `default` when absent. */
  readonly consent?: ConsentPreset | ConsentPolicy;
  /** Fields of the config of every run, such as `turns_max`, `tokens_max` or `reasoning`. */
  readonly config?: RunConfigPatch;
  /** The key of the model's server; by default from the environment. */
  readonly apiKey?: string;
  /** The address of the model's server; by default from the environment, or that of its maker. */
  readonly baseUrl?: string;
  /** Further tools, such as `defaultToolPackage()`: yours are added to it, and to each of its profiles. */
  readonly package?: ToolPackage;
  /** What runs the further tools, such as `hostExecutor(host)`. */
  readonly executors?: readonly Executor[];
}

export interface RunOptions {
  /** The session to continue, created when it does not exist: 1 to 64 characters of `A-Z a-z 0-9 _ . -`. A new one when absent. */
  readonly session?: string;
  /** Names the run within `session`. With the same key and prompt it is the same run: it goes on, or gives its result again. */
  readonly key?: string;
  /**
   * When an earlier process left a run of this session unfinished: by default, that run goes on, and the prompt is not used.
   * With `false`, the new run is refused as `run_already_active`.
   */
  readonly resume?: boolean;
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal;
  /** Replaces fields of the config for this run. */
  readonly config?: RunConfigPatch;
}

export interface Agent {
  /** Runs a prompt. The run has begun, whether or not it is iterated over. */
  readonly run: (prompt: string, options?: RunOptions) => Run;
  /** What waits for a person, in all sessions or in one: questions about calls, and those that calls ask. */
  readonly waiting: (session?: string) => Promise<readonly Question[]>;
  /** Answers a question that was shown: an `elicitation` with an `action`. Throws a `NotWaiting` when it waits no more. */
  readonly answer: (question: QuestionAddress, answer: Answer) => Promise<void>;
  /** The engine, for everything else. */
  readonly client: EngineClient;
  /** Where the engine listens; null for one of this process without `serve`. */
  readonly url: string | null;
  /** Stops. Runs that are not over are left unfinished, and go on when the data directory is opened again. */
  readonly close: () => Promise<void>;
}

/**
 * Opens an agent. Runs that an earlier process left unfinished go on at once; `run` with their session shows them. A call of
 * such a run that has not started is judged again where its tool has changed since: it asks again, or is refused.
 */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  const { tools = [], clock = systemClock } = options;
  const { apiKey, baseUrl } = options;
  const model = openModel(options.model, {
    clock,
    env: process.env,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
  const tool_package = toolPackageOf(tools, options.package);
  const consent = policyOf(options.consent ?? 'default');
  const local = await openLocal({
    ...options,
    clock,
    provider: model.provider,
    executors: [toolExecutor(tools), ...(options.executors ?? [])],
    secrets: [...model.secrets, ...(options.secrets ?? [])],
    renew: (client, session) => renewTools(client, session, tools),
  });
  const setup: SessionSetup = {
    tool_package,
    consent,
    config: { ...model.config, ...options.config, ...(await instructionsOf(local, options)) },
  };
  const { client, url } = local;
  return {
    run: newRuns(local, setup),
    waiting: (session) => openQuestions(client, session),
    answer: (question, answer) => answerQuestion(client, question, answer),
    client,
    url,
    close: () => local.close(),
  };
}

/** Another run of this process is live in the session. */
export class SessionBusy extends Error {
  override readonly name = 'SessionBusy';
  /** The session that has a run. */
  readonly session: string;

  constructor(session: string) {
    super(`session ${session} has a run here: wait for its result(), or cancel() it`);
    this.session = session;
  }
}

/** One run at a time follows a session in a process: another prompt must not be taken for the one that is running. */
function newRuns(local: Local, setup: SessionSetup): Agent['run'] {
  const live = new Set<string>();
  return (prompt, { session: named, key, resume = true, signal, config } = {}) => {
    if (key !== undefined && named === undefined) throw new TypeError('a key names a run within a session: give both');
    const session = chooseSession(local, named);
    if (live.has(session)) {
      throw new SessionBusy(session);
    }
    live.add(session);
    return holdRun(local, {
      session,
      begin: () =>
        beginRun(local.client, setup, {
          prompt,
          session,
          resume,
          wasUnfinished: local.unfinished.delete(session),
          ...(key === undefined ? {} : { key }),
          ...(config === undefined ? {} : { overrides: config }),
        }),
      onEnd: () => void live.delete(session),
      ...(signal === undefined ? {} : { signal }),
    });
  };
}

function policyOf(consent: ConsentPreset | ConsentPolicy): ConsentPolicy {
  if (typeof consent !== 'string') return consent;
  if (Object.hasOwn(CONSENT_PRESETS, consent)) return CONSENT_PRESETS[consent];
  const names = Object.keys(CONSENT_PRESETS).join(', ');
  throw new TypeError(`consent "${consent as string}" is no preset: give one of ${names}, or a policy`);
}

const instructionsOf = async (
  { client }: Local,
  { instructions }: Pick<AgentOptions, 'instructions'>,
): Promise<RunConfigPatch> =>
  instructions === undefined ? {} : { instructions: await storeText(client, instructions) };
