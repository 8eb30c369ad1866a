// The options and help of the commands with which people answer calls and steer runs.
import {
  type Options,
  type Program,
  attachOption,
  command,
  dataDir,
  sessionArgument,
  textOption,
  textsOption,
} from './command.ts';

const DIGEST_HELP = 'do not ask: answer only the question with this digest (refold approvals --json)';

export function addAnswers(program: Program): void {
  command(
    program,
    'approvals',
    'list the calls that wait for a person, in all sessions',
    async (options, _args, output) => {
      const { approvalsCommand } = await import('./commands/approvals.ts');
      return await approvalsCommand(await dataDir(options), output);
    },
  );

  command(
    program,
    'approve <call>',
    'show a call that waits for a person, ask, and allow it',
    async (options, [call = ''], output) => {
      const { approveCommand } = await import('./commands/approve.ts');
      return await approveCommand(await answerOf(options, call), { ...options }, output);
    },
  )
    .option('--session <id>', 'the session, when calls of several sessions have this id')
    .option('--digest <digest>', DIGEST_HELP)
    .option(
      '--preview <digest>',
      'the preview that you have seen: the call runs only while its files are as they were then',
    )
    .option('--for-session', 'also allow every later call of the tool, with any arguments')
    .option(
      '--pattern <argument=glob>',
      'also allow later calls whose argument matches, as in path=src/** or argv="npm test*", if every other argument ' +
        'equals that of this call and is absent where it is absent here',
    );

  command(program, 'deny <call>', 'deny a call that waits for a person', async (options, [call = ''], output) => {
    const { denyCommand } = await import('./commands/deny.ts');
    return await denyCommand(await answerOf(options, call), { ...options }, output);
  })
    .option('--session <id>', 'the session, when calls of several sessions have this id')
    .option('--message <text>', 'the reason; the model reads it')
    .option('--instead <json>', 'make the call with these arguments instead; shows the call and asks')
    .option('--digest <digest>', DIGEST_HELP);

  command(
    program,
    'answer <call>',
    'give the result of a call that a person carries out, or the answer to what a call asks',
    async (options, [call = ''], output) => {
      const { answerCommand } = await import('./commands/answer.ts');
      return await answerCommand(await answerOf(options, call), { ...options }, output);
    },
  )
    .option('--session <id>', 'the session, when calls of several sessions have this id')
    .option('--text <text>', 'the result that the model reads')
    .option('--digest <digest>', DIGEST_HELP)
    .addOption(attachOption())
    .option('--data <json>', 'structured data; checked against the output schema of the tool, or that of the question')
    .option('--action <action>', 'of what a call asks: accept (the default), decline or cancel')
    .option('--failed', 'the call could not be carried out');
}

export function addSteering(program: Program): void {
  command(
    program,
    'interrupt <session>',
    'stop queued calls, then continue with a new instruction or end the run',
    async (options, [id = ''], output) => {
      const { interruptCommand } = await import('./commands/interrupt.ts');
      const say = textOption(options, 'say');
      return await interruptCommand(
        await dataDir(options),
        {
          id: await sessionArgument(id),
          attach: textsOption(options, 'attach'),
          ...(say === undefined ? {} : { say }),
        },
        output,
      );
    },
  )
    .option('--say <text>', 'the instruction the run continues with; without it, the run ends')
    .addOption(attachOption());

  command(
    program,
    'pause <session>',
    'start nothing new in a session until it is resumed',
    async (options, [id = ''], output) => {
      const { pauseCommand } = await import('./commands/pause.ts');
      return await pauseCommand({ dataDir: await dataDir(options), id: await sessionArgument(id) }, output);
    },
  );

  command(program, 'resume <session>', 'continue a paused run, or start a fork', async (options, [id = ''], output) => {
    const { resumeCommand } = await import('./commands/resume.ts');
    return await resumeCommand({ dataDir: await dataDir(options), id: await sessionArgument(id) }, output);
  });

  command(
    program,
    'policy <session> [preset]',
    'show or set which calls of a session ask a person',
    async (options, [id = '', name], output) => {
      const { policyCommand } = await import('./commands/policy.ts');
      const tools = textOption(options, 'tool');
      return await policyCommand(
        await dataDir(options),
        {
          id: await sessionArgument(id),
          ...(name === undefined ? {} : { name }),
          ...(tools === undefined ? {} : { tools }),
        },
        output,
      );
    },
  ).option('--tool <id=permission,…>', 'exceptions for single tools: always_allow, always_ask or deny');
}

export function addRules(program: Program): void {
  command(
    program,
    'rules <session> [number]',
    'show the rules that a session follows, or move it to later ones',
    async (options, [id = '', adopt], output) => {
      const { rulesCommand } = await import('./commands/rules.ts');
      const change = { id: await sessionArgument(id), ...(adopt === undefined ? {} : { adopt }) };
      return await rulesCommand(await dataDir(options), change, output);
    },
  );
}

export function addToolsets(program: Program): void {
  command(
    program,
    'toolsets <session|list|approve|remove> [session] [toolset]',
    'list the tools from outside that a session has, approve definitions after a look at them, or remove a toolset',
    async (options, [first = '', second = '', toolset], output) => {
      const { TOOLSETS_ACTIONS, toolsetsCommand } = await import('./sources/toolsets.ts');
      const action = TOOLSETS_ACTIONS.find((known) => known === first);
      const request = {
        action: action ?? 'list',
        id: await sessionArgument(action === undefined ? first : second),
        toolset,
        tools: textsOption(options, 'tool'),
        yes: options['yes'] === true,
      };
      return await toolsetsCommand(await dataDir(options), request, output);
    },
  )
    .option('--tool <id...>', 'with approve: only these tools')
    .option('--yes', 'approve or remove without asking');
}

const answerOf = async (options: Options, call: string) => {
  const session = textOption(options, 'session');
  return {
    dataDir: await dataDir(options),
    call,
    ...(session === undefined ? {} : { session: await sessionArgument(session) }),
  };
};
