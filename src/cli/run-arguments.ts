// Derives the arguments of `refold run` and `refold bridge` from their options and the environment.
import { existsSync, lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { TURNS_MAX } from '../../schemas/limits.ts';
import { type CassetteHead, readCassetteHead } from '../files/cassette.ts';
import { MODEL_SERVERS, type ModelServerName } from '../files/model-servers.ts';
import { MODEL_UNNAMED, type RunConfigPatch } from '../../schemas/run.ts';
import { isHttpUrl } from '../client/http-url.ts';
import { CONSENT_PRESETS, type ConsentPreset } from '../toolsets/consent-presets.ts';
import type { BridgeCommand } from './commands/bridge.ts';
import type { RunCommand } from './commands/run.ts';
import { type Options, sessionArgument, textsOption } from './command.ts';
import { readAttachments } from './attachments.ts';
import { modelSettings } from './model-settings.ts';
import { CommandFailure } from './output.ts';
import type { CommandSkills } from './sources/set-skills.ts';

const INSTRUCTIONS =
  'You are a careful coding agent. Work with the tools you are offered, read before you change, make independent ' +
  'calls together in one turn, and run the tests before you say that you are done.';

/** Ends the command when the prompt is empty: a model without a task does anything. */
export function refuseEmpty(prompt: string): void {
  if (prompt.trim() !== '') return;
  throw new CommandFailure('invalid_shape', 'the prompt is empty. Give a task: refold run "make the tests pass"');
}

export async function runArguments(given: Options): Promise<Omit<RunCommand, 'prompt' | 'dataDir'>> {
  const options = withRecordedModel(given);
  const bridge = bridgeArguments(options);
  const recorded = options['recording'] !== undefined;
  const cassette = recorded ? await readCassetteHead(String(options['recording'])) : null;
  const asked = modelOf(options);
  if (asked === null && !recorded && options['session'] === undefined) {
    const { modelVariable } = MODEL_SERVERS[apiOf(options)];
    throw new CommandFailure('no_model', `no model is named. Give --model NAME, or set ${modelVariable}`);
  }
  const turns = options['turnsMax'];
  if (turns !== undefined && !(/^[1-9]\d{0,5}$/.test(String(turns)) && Number(turns) <= TURNS_MAX)) {
    const message = `--turns-max takes a whole number from 1 to ${TURNS_MAX}, not "${String(turns)}"`;
    throw new CommandFailure('invalid_shape', message);
  }
  const config: RunConfigPatch = {
    ...modelNamed(options, cassette),
    instructions: { text: INSTRUCTIONS },
    // The tools of a cassette are those of the server that it recorded.
    host_session_open: !recorded || cassette !== null,
    ...(turns === undefined ? {} : { turns_max: Number(turns) }),
    ...modelSettings(options),
  };
  const { session, model } = options;
  return {
    workspace: bridge.workspace,
    config,
    // A continued session names its model; --model overrides it.
    bridgeArgs: [
      ...bridge.args,
      ...(typeof model === 'string' && !recorded ? ['--model', model] : []),
      ...recordArguments(options),
    ],
    secrets: bridge.secrets,
    files: await readAttachments(textsOption(options, 'attach')),
    skills: skillsOf(options, bridge.workspace),
    ...policyOf(options),
    ...(options['yes'] === true ? { allowBecause: 'refold run --yes', unattended: true } : {}),
    ...(typeof session === 'string' ? { session: await sessionArgument(session) } : {}),
  };
}

const RECORDED = 'recorded:';

/** `--model recorded:FILE` says the same as `--recording FILE`. */
function withRecordedModel(options: Options): Options {
  const { model, ...rest } = options;
  if (typeof model !== 'string' || !model.startsWith(RECORDED)) return options;
  if (rest['recording'] !== undefined) {
    throw new CommandFailure('invalid_shape', `give --model ${RECORDED}FILE or --recording FILE, not both`);
  }
  return { ...rest, recording: model.slice(RECORDED.length) };
}

/** A cassette is played as what it recorded: the same provider and model, so that the requests are the same. */
function modelNamed(options: Options, cassette: CassetteHead | null): Pick<RunConfigPatch, 'provider' | 'model'> {
  if (cassette !== null) {
    return { provider: MODEL_SERVERS[cassette.api].provider, model: String(options['model'] ?? cassette.model) };
  }
  const provider = options['recording'] === undefined ? MODEL_SERVERS[apiOf(options)].provider : 'recorded';
  return { provider, model: modelOf(options) ?? MODEL_UNNAMED };
}

function recordArguments({ record, recording }: Options): readonly string[] {
  if (typeof record !== 'string') return [];
  const refuse = (why: string): never => {
    throw new CommandFailure('invalid_shape', `--record ${record}: ${why}`);
  };
  if (recording !== undefined) refuse('a recorded model sends nothing that could be recorded; leave one of them out');
  // A link that leads nowhere is taken, too.
  if (lstatSync(record, { throwIfNoEntry: false }) !== undefined) refuse('the file exists; give the name of a new one');
  return ['--record', resolve(record)];
}

function policyOf(options: Options): Pick<RunCommand, 'policy'> {
  const policy = options['policy'];
  if (policy === undefined) return {};
  if (options['session'] !== undefined) {
    throw new CommandFailure(
      'invalid_shape',
      '--policy applies to a new session. For an existing one: refold policy SESSION PRESET',
    );
  }
  const known = Object.keys(CONSENT_PRESETS);
  if (!known.includes(String(policy))) {
    throw new CommandFailure(
      'invalid_shape',
      `there is no policy "${String(policy)}". The presets are ${known.join(', ')}`,
    );
  }
  return { policy: policy as ConsentPreset };
}

/** The command line knows these names only. */
const apiOf = ({ api = 'openai-chat' }: Options): ModelServerName => api as ModelServerName;

/** Null when none is named, and the API has no usual one. */
function modelOf(options: Options): string | null {
  const { modelVariable, model } = MODEL_SERVERS[apiOf(options)];
  const named = options['model'] ?? process.env[modelVariable];
  return named === undefined || named === '' ? model : String(named);
}

/** The skills that the options name, else those of the workspace, where there are any. */
function skillsOf(options: Options, workspace: string): CommandSkills {
  const named = textsOption(options, 'skills').map((path) => resolve(path));
  const own = resolve(workspace, '.refold/skills');
  const directories = named.length === 0 && existsSync(own) ? [own] : named;
  return { directories, trust: options['skillsTrust'] === 'first' ? 'first' : null };
}

export function bridgeArguments(given: Options): Omit<BridgeCommand, 'dataDir' | 'stateDir'> {
  const options = withRecordedModel(given);
  const workspace = resolve(String(options['workspace'] ?? '.'));
  if (!existsSync(workspace))
    throw new CommandFailure(
      'no_workspace',
      `there is no directory ${workspace}. Give an existing one with --workspace`,
    );
  const { workspaceName } = options;
  const named = typeof workspaceName === 'string' ? ['--workspace-name', workspaceName] : [];
  const keep = options['keepResponses'];
  const kept = keep === undefined ? [] : ['--keep-responses', keptResponses(String(keep))];
  const { mcpConfig } = options;
  const servers = typeof mcpConfig === 'string' ? ['--mcp-config', resolve(mcpConfig)] : [];
  const skills = skillsOf(options, workspace).directories.flatMap((path) => ['--skills', path]);
  const trust = ['--skills-trust', String(options['skillsTrust'] ?? 'ask')];
  const common = [
    '--sandbox',
    String(options['sandbox'] ?? 'auto'),
    ...named,
    ...kept,
    ...skills,
    ...(skills.length === 0 ? [] : trust),
    ...servers,
  ];
  const { recording } = options;
  if (typeof recording === 'string') {
    if (!existsSync(recording))
      throw new CommandFailure(
        'no_recording',
        `there is no recording ${recording}. Give an existing file with --recording`,
      );
    return { workspace, args: [...common, '--provider', 'recorded', '--recording', resolve(recording)], secrets: {} };
  }
  return { workspace, ...serverArguments(options, common) };
}

function keptResponses(keep: string): string {
  if (/^(all|off|[1-9][0-9]{0,8})$/.test(keep)) return keep;
  throw new CommandFailure('invalid_shape', `--keep-responses takes all, off or a number of turns, not "${keep}"`);
}

function serverArguments(options: Options, common: readonly string[]): Pick<BridgeCommand, 'args' | 'secrets'> {
  const api = apiOf(options);
  const { keyVariables, baseUrlVariable, baseUrl: usual } = MODEL_SERVERS[api];
  const keys = keyVariables
    .flatMap((name) => [[name, process.env[name] ?? ''] as const])
    .filter(([, key]) => key !== '');
  // An empty variable is one that is not set.
  const baseUrl = options['baseUrl'] ?? (process.env[baseUrlVariable] || undefined);
  if (baseUrl === undefined && (keys.length === 0 || usual === null)) {
    const needed =
      usual === null
        ? `Give --base-url for ${api}`
        : `Set ${keyVariables.join(' or ')}, or give the --base-url of a server that speaks ${api}`;
    const message = `no model is configured. ${needed}, or --recording FILE. To see refold work without a model: refold demo`;
    throw new CommandFailure('no_model', message);
  }
  if (baseUrl !== undefined && !isHttpUrl(baseUrl)) {
    throw new CommandFailure('no_model', `the model server must be an http or https URL, not "${String(baseUrl)}"`);
  }
  const model = modelOf(options);
  const server = baseUrl === undefined ? [] : ['--base-url', baseUrl];
  const fallback = model === null ? [] : ['--fallback-model', model];
  return {
    args: [...common, '--provider', 'api', '--api', api, ...fallback, ...server],
    secrets: Object.fromEntries(keys),
  };
}
