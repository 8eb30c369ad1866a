// The options and help of the commands that audit sessions: verify, diff, explain, timeline, checkpoint, fork, whatif.
import { Option } from 'commander';
import { type Options, type Program, command, dataDir, sessionArgument, textOption, wholeNumber } from './command.ts';

/** The given text options, each under the name the command uses for it. */
const given = <Name extends string>(
  options: Options,
  names: Readonly<Record<Name, string>>,
): { [K in Name]?: string } =>
  Object.fromEntries(
    Object.entries<string>(names).flatMap(([name, option]) => {
      const value = textOption(options, option);
      return value === undefined ? [] : [[name, value] as const];
    }),
  ) as { [K in Name]?: string };

export function addAudit(program: Program): void {
  command(
    program,
    'verify [session-or-file...]',
    'check every digest, chain value, blob and snapshot; name the first bad position',
    async (options, sources, output) => {
      const { verifyCommand } = await import('./commands/verify.ts');
      const kept = given(options, { checkpoint: 'checkpoint', publicKey: 'publicKey' });
      const all = options['all'] === true;
      const laws = options['laws'] === true;
      return await verifyCommand({ sources, all, laws, ...kept, dataDir: await dataDir(options) }, output);
    },
  )
    .option('--all', 'every session of the data directory')
    .option('--laws', 'also judge each record: plan, results, answers, starts and denials')
    .option('--checkpoint <file>', 'compare them with this checkpoint or proof')
    .option('--public-key <file>', 'the public key of the expected signer of the checkpoint');

  command(
    program,
    'diff <a> <b>',
    'show where two sessions or files first differ, in their events and their state',
    async (options, [a = '', b = ''], output) => {
      const { diffCommand } = await import('./commands/diff.ts');
      const pathsMax = wholeNumber(options, 'max', 1);
      const at = options['at'] === undefined ? {} : { at: wholeNumber(options, 'at', 0) };
      return await diffCommand(
        { a, b, strict: options['strict'] === true, pathsMax, ...at, dataDir: await dataDir(options) },
        output,
      );
    },
  )
    .option('--at <n>', 'compare the first n events (default: all)')
    .option('--strict', 'compare ids, times and digests too')
    .option('--max <n>', 'the most paths to show for each comparison', '20');

  command(
    program,
    'explain <session-or-file>',
    'explain why a tool was in or out, or what happened to a call, in a turn of the model, or in its compactions',
    async (options, [source = ''], output) => {
      const { explainCommand } = await import('./commands/explain.ts');
      const [tool, call] = [textOption(options, 'tool'), textOption(options, 'call')];
      const at = options['at'] === undefined ? {} : { at: wholeNumber(options, 'at', 0) };
      const turn = options['turn'] === undefined ? {} : { turn: wholeNumber(options, 'turn', 1) };
      const wanted = {
        ...at,
        ...turn,
        ...(tool === undefined ? {} : { tool }),
        ...(call === undefined ? {} : { call }),
        ...(options['compactions'] === true ? { compactions: true } : {}),
      };
      return await explainCommand({ source, ...wanted, dataDir: await dataDir(options) }, output);
    },
  )
    .option('--at <n>', 'after the first n events (default: all)')
    .addOption(new Option('--tool <name-or-id>', 'only this tool (default: every tool)').conflicts('call'))
    .option('--call <id>', 'this call')
    .addOption(new Option('--turn <n>', 'this turn of every run').conflicts(['tool', 'call']))
    .addOption(
      new Option('--compactions', 'why and how the conversation was compacted').conflicts(['tool', 'call', 'turn']),
    );
}

export function addTimeline(program: Program): void {
  command(
    program,
    'timeline <session-or-file>',
    'draw each turn over time: the model, what waited, and which calls ran concurrently',
    async (options, [source = ''], output) => {
      const { timelineCommand } = await import('./commands/timeline.ts');
      const turn = options['turn'] === undefined ? {} : { turn: wholeNumber(options, 'turn', 1) };
      return await timelineCommand({ source, ...turn, dataDir: await dataDir(options) }, output);
    },
  ).option('--turn <n>', 'only this turn (default: all)');
}

export function addRequest(program: Program): void {
  command(
    program,
    'request <session>',
    'write the request of a turn to the model again, and compare it with what was sent',
    async (options, [id = ''], output) => {
      const { requestCommand } = await import('./commands/request.ts');
      const run = textOption(options, 'run');
      const turn = wholeNumber(options, 'turn', 1);
      const session = await sessionArgument(id);
      return await requestCommand(
        {
          dataDir: await dataDir(options),
          session,
          turn,
          ...(run === undefined ? {} : { run }),
          compaction: options['compaction'] === true,
        },
        output,
      );
    },
  )
    .requiredOption('--turn <n>', 'the turn')
    .option('--run <id>', 'the run (default: the last one that has this turn)')
    .option('--compaction', 'the request for the summary before the turn, not that of the turn');
}

export function addCheckpoint(program: Program): void {
  command(
    program,
    'checkpoint',
    'sign the current head of every session, for an independent party to keep',
    async (options, _args, output) => {
      const { checkpointCommand } = await import('./commands/checkpoint.ts');
      const prove = textOption(options, 'prove');
      const wanted = {
        ...given(options, { key: 'key', newKey: 'newKey', checkpoint: 'checkpoint', file: 'output' }),
        ...(prove === undefined ? {} : { prove: await sessionArgument(prove) }),
      };
      return await checkpointCommand({ ...wanted, dataDir: await dataDir(options) }, output);
    },
  )
    .option('--new-key <file>', 'only create a key: FILE to sign with, FILE.pub to verify with')
    .option('--key <file>', 'sign with this key')
    .option('--prove <session>', 'only prove that --checkpoint contains this session')
    .option('--checkpoint <file>', 'the checkpoint that the proof is taken from')
    .option('-o, --output <file>', 'a new file (default: standard output)');
}

export function addFork(program: Program): void {
  command(
    program,
    'fork <session>',
    'create an independent session from the first events of another',
    async (options, [source = ''], output) => {
      const { forkCommand } = await import('./commands/fork.ts');
      const to = textOption(options, 'to');
      return await forkCommand(
        {
          source: await sessionArgument(source),
          ...(options['at'] === undefined ? {} : { at: wholeNumber(options, 'at', 0) }),
          ...(to === undefined ? {} : { to: await sessionArgument(to) }),
          run: (textOption(options, 'run') ?? 'pause') as 'pause' | 'go' | 'end',
          dataDir: await dataDir(options),
        },
        output,
      );
    },
  )
    .option('--at <n>', 'share the first n events (default: all)')
    .option('--to <id>', 'the id of the new session (default: a new id)')
    .addOption(
      new Option(
        '--run <what>',
        'what happens to a run that is active there: it pauses, continues at once, or is cancelled',
      )
        .choices(['pause', 'go', 'end'])
        .default('pause'),
    );
}

export function addWhatIf(program: Program): void {
  command(
    program,
    'whatif [session-or-file...]',
    'show what sessions would have decided under other tools or policy; exit 1 when a decision changes',
    async (options, sources, output) => {
      const { whatIfCommand } = await import('./commands/whatif.ts');
      return await whatIfCommand(
        {
          sources,
          all: options['all'] === true,
          strict: options['strict'] === true,
          changesMax: wholeNumber(options, 'max', 1),
          ...(options['at'] === undefined ? {} : { at: wholeNumber(options, 'at', 0) }),
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
    .option('--at <n>', 'only the turns of the first n events (default: all)')
    .option('--strict', 'count a changed offer as a change')
    .option('--max <n>', 'the most lines to show for one session', '40');
}
