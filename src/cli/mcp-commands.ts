// The options and help of `refold mcp`.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { type Options, type Program, command, dataDir, sandboxOption, sessionArgument, textOption } from './command.ts';
import { CommandFailure } from './output.ts';

/** The commands below `refold mcp`; one group for all of them. */
export function addMcp(program: Program): void {
  const group = new Command('mcp').description('serve the tools of a session to a host that speaks MCP').exitOverride();
  program.root.addCommand(group);
  addMcpServe({
    ...program,
    root: group,
    get exitCode() {
      return program.exitCode;
    },
    set exitCode(code) {
      program.exitCode = code;
    },
  });
}

function addMcpServe(program: Program): void {
  command(
    program,
    'serve [session]',
    'an MCP server on standard input and output: a new session, or one to go on with',
    async (options, [session]) => {
      const [{ mcpServeCommand }, { directoryOf }] = await Promise.all([
        import('./sources/mcp-serve.ts'),
        import('./data-dir.ts'),
      ]);
      const directory = await dataDir(options);
      const policy = textOption(options, 'policy');
      return await mcpServeCommand({
        dataDir: directory,
        place: directoryOf(directory),
        workspace: workspaceOf(options),
        sandbox: textOption(options, 'sandbox') ?? 'auto',
        hostAnswers: options['hostAnswers'] === true,
        bridge: options['bridge'] !== false,
        ...(session === undefined ? {} : { session: await sessionArgument(session) }),
        ...(policy === undefined ? {} : { policy: await presetOf(policy, session) }),
      });
    },
  )
    .option('--workspace <dir>', 'the directory the tools work in', '.')
    .option('--policy <preset>', 'which calls ask a person, in a new session (see refold policy)')
    .option('--host-answers', 'the answers of the host’s person count; a host may answer by itself')
    .addOption(new Option('--no-bridge', 'run no calls here: another bridge of the engine does'))
    .addOption(sandboxOption());
}

function workspaceOf(options: Options): string {
  const workspace = resolve(textOption(options, 'workspace') ?? '.');
  if (existsSync(workspace)) return workspace;
  const message = `there is no directory ${workspace}. Give an existing one with --workspace`;
  throw new CommandFailure('no_workspace', message);
}

async function presetOf(policy: string, session: string | undefined) {
  const { CONSENT_PRESETS } = await import('../toolsets/consent-presets.ts');
  if (session !== undefined) {
    const message = '--policy applies to a new session. For an existing one: refold policy SESSION PRESET';
    throw new CommandFailure('invalid_shape', message);
  }
  const known = Object.keys(CONSENT_PRESETS) as readonly (keyof typeof CONSENT_PRESETS)[];
  const preset = known.find((name) => name === policy);
  if (preset !== undefined) return preset;
  throw new CommandFailure('invalid_shape', `there is no policy "${policy}". The presets are ${known.join(', ')}`);
}
