// The options and help of `refold mcp add`, `remove` and `list`: which MCP servers the bridges of a data directory run.
import { Command, Option } from 'commander';
import type { LoginCommand } from './sources/mcp-login.ts';
import type { McpCommand } from './sources/mcp-servers.ts';
import { type Options, type Program, command, dataDir, textOption, textsOption } from './command.ts';

export function addMcpConfig(program: Program): void {
  const group = groupOf(program);
  withFile(
    command(
      group,
      'add <name> [command...]',
      'add a local server, its command after --, or one over HTTP with --url',
      run('add'),
    ),
  )
    .option('--url <url>', 'a server over HTTP')
    .addOption(repeated('--header <header>', 'a header of its requests, such as "Authorization: Bearer ${env:TOKEN}"'))
    .addOption(repeated('--env <name=value>', 'a variable of a local server; ${env:NAME} stands for one of the bridge'))
    .option('--trust-first', 'approve the tools of its first listing at once');
  withFile(command(group, 'remove <name>', 'remove a server', run('remove')));
  withFile(
    command(group, 'login <server>', 'sign in at a server over HTTP: shows the address to open', login('login')),
  ).option('--scope <scope>', 'what to ask for beside what the server asks for');
  withFile(command(group, 'logout <server>', 'forget the login at a server', login('logout')));
  withFile(command(group, 'list', 'list the servers, and what is wrong with the configuration', run('list')));
}

/** The group of all commands about MCP, which another file may have made. */
function groupOf(program: Program): Program {
  const known = program.root.commands.find((one) => one.name() === 'mcp');
  const root = known ?? new Command('mcp').description('servers and hosts that speak MCP').exitOverride();
  if (known === undefined) program.root.addCommand(root);
  return {
    ...program,
    root,
    get exitCode() {
      return program.exitCode;
    },
    set exitCode(code) {
      program.exitCode = code;
    },
  };
}

const withFile = (made: Command): Command =>
  made.option('--mcp-config <file>', 'the configuration (default: mcp.json in the data directory)');

const repeated = (flags: string, description: string): Option =>
  new Option(flags, `${description}; may be repeated`).argParser(
    (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
  );

const login =
  (action: LoginCommand['action']) =>
  async (options: Options, [server = '']: readonly string[], output: Parameters<Parameters<typeof command>[3]>[2]) => {
    const { mcpLoginCommand } = await import('./sources/mcp-login.ts');
    const [file, scope] = [textOption(options, 'mcpConfig'), textOption(options, 'scope')];
    return await mcpLoginCommand(
      {
        action,
        dataDir: await dataDir(options),
        server,
        ...(file === undefined ? {} : { file }),
        ...(scope === undefined ? {} : { scope }),
      },
      output,
    );
  };

const run =
  (action: McpCommand['action']) =>
  async (
    options: Options,
    [name, ...argv]: readonly string[],
    output: Parameters<Parameters<typeof command>[3]>[2],
  ) => {
    const { mcpCommand } = await import('./sources/mcp-servers.ts');
    const [file, url] = [textOption(options, 'mcpConfig'), textOption(options, 'url')];
    return await mcpCommand(
      {
        action,
        dataDir: await dataDir(options),
        name: name ?? '',
        argv,
        headers: textsOption(options, 'header'),
        env: textsOption(options, 'env'),
        trustFirst: options['trustFirst'] === true,
        ...(file === undefined ? {} : { file }),
        ...(url === undefined ? {} : { url }),
      },
      output,
    );
  };
