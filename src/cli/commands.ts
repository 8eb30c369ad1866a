// The options and help of the commands that run, serve and show sessions, in the order of `refold --help`.
import { resolve } from 'node:path';
import { Option } from 'commander';
import { catalogPath, skillsOption, skillsTrustOption } from './catalog-commands.ts';
import { MODEL_SERVER_NAMES } from '../files/model-servers.ts';
import { journalUrl } from './journal/journal-commands.ts';
import type { SessionStatus } from '../../schemas/session-head.ts';
import {
  type Options,
  type Program,
  attachOption,
  command,
  dataDir,
  describeDataDir,
  keepResponsesOption,
  sandboxOption,
  sessionArgument,
  textOption,
  wholeNumber,
} from './command.ts';

/** Not read from the codec, which is loaded only when a command runs. */
const STATUSES: Readonly<Record<SessionStatus, true>> = {
  idle: true,
  running: true,
  waiting: true,
  requires_action: true,
  paused: true,
  incomplete: true,
};

const apiOption = (): Option =>
  new Option('--api <name>', 'the API that the model server speaks').choices(MODEL_SERVER_NAMES).default('openai-chat');

export function addRuns(program: Program): void {
  const demo = command(
    program,
    'demo',
    'run a whole session on a small workspace: recorded model, real tools, replay proven',
    async (options, _args, output) => {
      const { demoCommand } = await import('./commands/demo.ts');
      // Not the default of other commands: a demo must not leave its session in the home directory.
      const named = textOption(options, 'dataDir') ?? (process.env['REFOLD_DATA_DIR'] || undefined);
      const sandbox = textOption(options, 'sandbox') ?? 'auto';
      const data = named === undefined ? {} : { dataDir: await dataDir(options) };
      return await demoCommand({ sandbox, ...data }, output);
    },
  ).addOption(sandboxOption());
  describeDataDir(demo, '$REFOLD_DATA_DIR, else a new temporary one');

  command(
    program,
    'run <prompt>',
    'run one prompt with a model until the run ends',
    async (options, [prompt = ''], output) => {
      const { runCommand } = await import('./commands/run.ts');
      const { refuseEmpty, runArguments } = await import('./run-arguments.ts');
      refuseEmpty(prompt);
      return await runCommand({ prompt, dataDir: await dataDir(options), ...(await runArguments(options)) }, output);
    },
  )
    .option('--workspace <dir>', 'the directory the tools work in', '.')
    .option('--session <id>', 'continue this session instead of a new one')
    .addOption(attachOption())
    .addOption(apiOption())
    .option(
      '--model <name>',
      'the model to ask (default: $OPENAI_MODEL and its like, else gpt-5-mini for OpenAI); recorded:FILE plays a recording',
    )
    .option('--base-url <url>', 'a server that speaks this API (default: $OPENAI_BASE_URL and its like)')
    .option('--recording <file>', 'read the model’s turns from this recording or cassette instead')
    .addOption(keepResponsesOption())
    .option(
      '--record <file>',
      'write all requests and responses to this new file, without secrets, to play again later',
    )
    .option('--turns-max <n>', 'end the run after this many turns')
    .option('--tool-choice <choice>', 'auto, none, required, or the name of a tool that the model must call')
    .option('--no-parallel-calls', 'ask the model for one call at a time')
    .option('--reasoning <effort>', 'how much the model may think: none, minimal, low, medium, high or max')
    .option('--temperature <t>', 'the temperature, from 0 to 2')
    .option('--context-mark <tokens>', 'compact the conversation when a turn has used more than this many tokens')
    .addOption(skillsOption('.refold/skills in the workspace'))
    .addOption(skillsTrustOption())
    .option('--mcp-config <file>', 'the MCP servers whose tools sessions get (default: mcp.json in the data directory)')
    .option('--policy <preset>', 'which calls ask a person, in a new session (see refold policy)')
    .option('--yes', 'allow every call that asks; this is recorded')
    .addOption(sandboxOption());
}

export function addUndo(program: Program): void {
  command(
    program,
    'undo <session>',
    'restore the files that a call changed, all or none',
    async (options, [id = ''], output) => {
      const { undoCommand } = await import('./commands/undo.ts');
      const { brand } = await import('../../schemas/ids.ts');
      const [batch, workspace] = [textOption(options, 'batch'), textOption(options, 'workspace')];
      const workspaceName = textOption(options, 'workspaceName');
      return await undoCommand(
        {
          dataDir: await dataDir(options),
          session: await sessionArgument(id),
          call: brand(textOption(options, 'call') ?? ''),
          ...(batch === undefined ? {} : { batch: brand<'BatchId'>(batch) }),
          ...(workspace === undefined ? {} : { workspace }),
          ...(workspaceName === undefined ? {} : { workspaceName }),
        },
        output,
      );
    },
  )
    .requiredOption('--call <id>', 'the call')
    .option('--batch <id>', 'the batch of the call, when several calls have this id (default: the last one)')
    .option('--workspace <dir>', 'the directory of the files (default: the last workspace of the session)')
    .option('--workspace-name <name>', 'the name that the call recorded, when the directory was moved or copied since');
}

export function addProcesses(program: Program): void {
  command(
    program,
    'serve',
    'run the engine process: it owns the data directory and listens on loopback',
    async (options, _args, output) => {
      const { serveCommand } = await import('./commands/serve.ts');
      const journal = journalUrl(options);
      return await serveCommand(
        {
          dataDir: await dataDir(options),
          port: wholeNumber(options, 'port', 0, 65_535),
          host: textOption(options, 'host') ?? '127.0.0.1',
          allowRemote: options['allowRemote'] === true,
          exitWithParent: options['exitWithParent'] === true,
          hostAnswers: options['hostAnswers'] === true,
          ...(options['leaseTtl'] === undefined ? {} : { leaseTtlMs: wholeNumber(options, 'leaseTtl', 100) }),
          ...(options['activeSessionsMax'] === undefined
            ? {}
            : { activeSessionsMax: wholeNumber(options, 'activeSessionsMax', 1) }),
          ...(options['drainMs'] === undefined ? {} : { drainMs: wholeNumber(options, 'drainMs', 0) }),
          ...(journal === undefined ? {} : { journal }),
          ...catalogOption(options),
        },
        output,
      );
    },
  )
    .option(
      '--journal <url>',
      'keep sessions in this PostgreSQL database (default: $REFOLD_JOURNAL, else the data directory)',
    )
    .option('--port <n>', 'the port to listen on; 0 for any free port', '7423')
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--allow-remote', 'allow an address that is not loopback')
    .option('--lease-ttl <ms>', 'how long a bridge may be silent before its leases expire')
    .option('--active-sessions-max <n>', 'the most sessions that may be active at a time (default: 16384)')
    .option('--drain-ms <ms>', 'how long a stop waits for running calls to be reported (default: 10000)')
    .option('--host-answers', 'at /mcp: the answers of the host’s person count; a host may answer by itself')
    .option('--catalog <path>', 'the tools of this JSON file or directory, for new sessions (default: $CATALOG_DIR)')
    .option('--exit-with-parent', 'exit when standard input ends');
  addBridge(program);
}

function addBridge(program: Program): void {
  command(
    program,
    'bridge',
    'run a host bridge process: it asks the model and runs the tools for a running engine',
    async (options, _args, output) => {
      const { bridgeCommand } = await import('./commands/bridge.ts');
      const { bridgeArguments } = await import('./run-arguments.ts');
      const [stateDir, session] = [textOption(options, 'stateDir'), textOption(options, 'session')];
      const bridge = bridgeArguments(options);
      return await bridgeCommand(
        {
          dataDir: await dataDir(options),
          ...bridge,
          args: [...bridge.args, ...(session === undefined ? [] : ['--session', await sessionArgument(session)])],
          ...(stateDir === undefined ? {} : { stateDir: resolve(stateDir) }),
        },
        output,
      );
    },
  )
    .option('--workspace <dir>', 'the directory the tools work in', '.')
    .option('--workspace-name <name>', 'its name (default: made from the machine, the path and the inode)')
    .option('--model <name>', 'the model to ask when a run names none')
    .addOption(apiOption())
    .option('--base-url <url>', 'a server that speaks this API (default: $OPENAI_BASE_URL and its like)')
    .option('--recording <file>', 'read the model’s turns from this recording or cassette instead')
    .addOption(keepResponsesOption())
    .addOption(skillsOption('.refold/skills in the workspace'))
    .addOption(skillsTrustOption())
    .option('--session <id>', 'serve only this session')
    .option('--mcp-config <file>', 'the MCP servers whose tools sessions get (default: mcp.json in the data directory)')
    .option(
      '--state-dir <dir>',
      'the directory of its ledger of started calls (default: bridges/ in the data directory)',
    )
    .addOption(sandboxOption());
}

function catalogOption(options: Options): { readonly catalog?: string } {
  const catalog = catalogPath(options);
  return catalog === null ? {} : { catalog };
}

export function addOpen(program: Program): void {
  command(
    program,
    'open [session-or-file]',
    'open the page that shows sessions in a browser: all of them, one, or an exported file without any engine',
    async (options, [name], output) => {
      const { openCommand } = await import('./page/open.ts');
      return await openCommand(
        {
          dataDir: await dataDir(options),
          readOnly: options['readOnly'] === true,
          browser: options['browser'] !== false,
          ...(name === undefined ? {} : { name }),
        },
        output,
      );
    },
  )
    .option('--read-only', 'the page may read, and neither answer nor change anything')
    .option('--no-browser', 'print the address instead; it can be opened once, within 60 seconds');
}

export function addInspection(program: Program): void {
  command(program, 'sessions', 'list the sessions', async (options, _args, output) => {
    const { deletedCommand, sessionsCommand } = await import('./commands/sessions.ts');
    if (options['deleted'] === true) return await deletedCommand(await dataDir(options), output);
    const status = options['status'] as SessionStatus | undefined;
    const filters = {
      ...(options['owing'] === true ? { owing: true } : {}),
      ...(options['waiting'] === true ? { waiting: true } : {}),
      ...(status === undefined ? {} : { status }),
    };
    return await sessionsCommand({ dataDir: await dataDir(options), filters }, output);
  })
    .option('--owing', 'only those with work for a bridge')
    .option('--deleted', 'the tombstones of deleted sessions instead')
    .option('--waiting', 'only those that wait for a person or only for a time')
    .addOption(new Option('--status <status>', 'only those with this status').choices(Object.keys(STATUSES)));

  command(
    program,
    'show <session>',
    'show state, effective tools with reasons, and the open plan',
    async (options, [id = ''], output) => {
      const { showCommand } = await import('./commands/show.ts');
      return await showCommand(await dataDir(options), await sessionArgument(id), output);
    },
  );

  command(program, 'events <session>', 'list the recorded events', async (options, [id = ''], output) => {
    const { eventsCommand } = await import('./commands/events.ts');
    const from = wholeNumber(options, 'from', 0);
    return await eventsCommand(
      {
        dataDir: await dataDir(options),
        id: await sessionArgument(id),
        follow: options['follow'] === true || options['deltas'] === true,
        deltas: options['deltas'] === true,
        from,
      },
      output,
    );
  })
    .option('--follow', 'continue with new events until interrupted')
    .option('--deltas', 'the same, with what the model writes meanwhile, which is never recorded')
    .option('--from <position>', 'start at this position', '0');

  command(
    program,
    'replay <session-or-file>',
    'fold a recorded session again and check every digest',
    async (options, [source = ''], output) => {
      const { replayCommand } = await import('./commands/replay.ts');
      const at = options['at'] === undefined ? {} : { at: wholeNumber(options, 'at', 0) };
      return await replayCommand({ source, ...at, dataDir: await dataDir(options) }, output);
    },
  ).option('--at <n>', 'only the first n events (default: all)');
}
