// The commands that look back: verify, sign, compare, explain, fork.
import { type Command, Option } from 'commander';
import { type Options, command, dataDir, sessionArgument, text, wholeNumber } from './command.ts';

/** The texts that were given, each under the name that the command has for it. */
const given = <Name extends string>(
  options: Options,
  names: Readonly<Record<Name, string>>,
): { [K in Name]?: string } =>
  Object.fromEntries(
    Object.entries<string>(names).flatMap(([name, option]) => {
      const value = text(options, option);
      return value === undefined ? [] : [[name, value] as const];
    }),
  ) as { [K in Name]?: string };

export function addAudit(program: Command): void {
  command(
    program,
    'verify [session-or-file...]',
    'check every digest, chain value and blob; names the first bad position',
    async (options, sources, output) => {
      const { verifyCommand } = await import('./commands/verify.ts');
      const kept = given(options, { checkpoint: 'checkpoint', publicKey: 'publicKey' });
      const all = options['all'] === true;
      return await verifyCommand({ sources, all, ...kept, dataDir: await dataDir(options) }, output);
    },
  )
    .option('--all', 'every session of the data directory')
    .option('--checkpoint <file>', 'hold them against a checkpoint, or a proof, that was kept')
    .option('--public-key <file>', 'the key that has to have signed it');

  command(
    program,
    'diff <a> <b>',
    'where two sessions or files first differ, in their events and in their state',
    async (options, [a = '', b = ''], output) => {
      const { diffCommand } = await import('./commands/diff.ts');
      const pathsMax = wholeNumber(options, 'max', 1);
      return await diffCommand(
        { a, b, strict: options['strict'] === true, pathsMax, dataDir: await dataDir(options) },
        output,
      );
    },
  )
    .option('--strict', 'compare ids, times and digests too')
    .option('--max <n>', 'most paths to show of each comparison', '20');

  command(
    program,
    'explain <session-or-file>',
    'why a tool was in or out, or what became of a call and why',
    async (options, [source = ''], output) => {
      const { explainCommand } = await import('./commands/explain.ts');
      const [tool, call] = [text(options, 'tool'), text(options, 'call')];
      const at = options['at'] === undefined ? {} : { at: wholeNumber(options, 'at', 0) };
      const wanted = { ...at, ...(tool === undefined ? {} : { tool }), ...(call === undefined ? {} : { call }) };
      return await explainCommand({ source, ...wanted, dataDir: await dataDir(options) }, output);
    },
  )
    .option('--at <n>', 'after the first n events (default: all of them)')
    .addOption(new Option('--tool <name-or-id>', 'this tool only (default: every tool)').conflicts('call'))
    .option('--call <id>', 'this call');
}

export function addTimeline(program: Command): void {
  command(
    program,
    'timeline <session-or-file>',
    'when what happened in each turn, as a picture: the model, what waited and what ran beside what',
    async (options, [source = ''], output) => {
      const { timelineCommand } = await import('./commands/timeline.ts');
      const turn = options['turn'] === undefined ? {} : { turn: wholeNumber(options, 'turn', 1) };
      return await timelineCommand({ source, ...turn, dataDir: await dataDir(options) }, output);
    },
  ).option('--turn <n>', 'this turn only (default: all of them)');
}

export function addCheckpoint(program: Command): void {
  command(
    program,
    'checkpoint',
    'sign what every session is now, for somebody else to keep',
    async (options, _args, output) => {
      const { checkpointCommand } = await import('./commands/checkpoint.ts');
      const prove = text(options, 'prove');
      const wanted = {
        ...given(options, { key: 'key', newKey: 'newKey', checkpoint: 'checkpoint', file: 'output' }),
        ...(prove === undefined ? {} : { prove: await sessionArgument(prove) }),
      };
      return await checkpointCommand({ ...wanted, dataDir: await dataDir(options) }, output);
    },
  )
    .option('--new-key <file>', 'only make a key: FILE for whoever signs, FILE.pub for whoever checks')
    .option('--key <file>', 'sign with this key')
    .option('--prove <session>', 'only prove that --checkpoint holds this session')
    .option('--checkpoint <file>', 'the checkpoint to prove from')
    .option('-o, --output <file>', 'a new file (default: standard output)');
}

export function addFork(program: Command): void {
  command(
    program,
    'fork <session>',
    'a new session with the first events of another one, and a life of its own from there',
    async (options, [source = ''], output) => {
      const { forkCommand } = await import('./commands/fork.ts');
      const to = text(options, 'to');
      return await forkCommand(
        {
          source: await sessionArgument(source),
          ...(options['at'] === undefined ? {} : { at: wholeNumber(options, 'at', 0) }),
          ...(to === undefined ? {} : { to: await sessionArgument(to) }),
          run: (text(options, 'run') ?? 'pause') as 'pause' | 'go' | 'end',
          dataDir: await dataDir(options),
        },
        output,
      );
    },
  )
    .option('--at <n>', 'share the first n events (default: all of them)')
    .option('--to <id>', 'the name of the new session (default: one that nobody has)')
    .addOption(
      new Option('--run <what>', 'what becomes of a run that is live there: it waits, goes on at once, or is cancelled')
        .choices(['pause', 'go', 'end'])
        .default('pause'),
    );
}

export function addWhatIf(program: Command): void {
  command(
    program,
    'whatif [session-or-file...]',
    'what recorded sessions would have decided under other tools or policy; exit 1 when any decision changes',
    async (options, sources, output) => {
      const { whatIfCommand } = await import('./commands/whatif.ts');
      return await whatIfCommand(
        {
          sources,
          all: options['all'] === true,
          strict: options['strict'] === true,
          changesMax: wholeNumber(options, 'max', 1),
          ...given(options, { registry: 'registry', profile: 'profile', policy: 'policy' }),
          dataDir: await dataDir(options),
        },
        output,
      );
    },
  )
    .option('--registry <file>', 'these tools: a JSON list, or { registry, profiles?, provider_profiles? }')
    .option('--profile <id>', 'this profile for every run')
    .option('--policy <file>', 'this consent policy, or the name of a preset')
    .option('--all', 'every session of the data directory')
    .option('--strict', 'a changed offer counts as a change too')
    .option('--max <n>', 'most lines to show of one session', '40');
}
