// The commands by which people answer what waits for them, with their options and help.
import type { Command } from 'commander';
import { type Options, command, dataDir, sessionArgument, text } from './command.ts';

export function addPeople(program: Command): void {
  command(program, 'approvals', 'what waits for a person, in all sessions', async (options, _args, output) => {
    const { approvalsCommand } = await import('./commands/approvals.ts');
    return await approvalsCommand(await dataDir(options), output);
  });

  command(program, 'approve <call>', 'let a call run that waits for a person', async (options, [call = ''], output) => {
    const { approveCommand } = await import('./commands/approvals.ts');
    return await approveCommand(await answerOf(options, call), { ...options }, output);
  })
    .option('--session <id>', 'the session, when several have such a call')
    .option('--for-session', 'allow every later call of the tool, too')
    .option(
      '--pattern <argument=glob>',
      'allow later calls whose argument matches, too: path=src/** or argv="npm test*"',
    );

  command(program, 'deny <call>', 'refuse a call that waits for a person', async (options, [call = ''], output) => {
    const { denyCommand } = await import('./commands/approvals.ts');
    return await denyCommand(await answerOf(options, call), { ...options }, output);
  })
    .option('--session <id>', 'the session, when several have such a call')
    .option('--message <text>', 'why; the model reads it')
    .option('--instead <json>', 'make the call with these arguments instead');

  command(program, 'answer <call>', 'fulfil a call that a person is to do', async (options, [call = ''], output) => {
    const { answerCommand } = await import('./commands/approvals.ts');
    return await answerCommand(await answerOf(options, call), { ...options }, output);
  })
    .option('--session <id>', 'the session, when several have such a call')
    .option('--text <text>', 'what the model reads')
    .option('--data <json>', 'structured data; checked against the output schema of the tool')
    .option('--failed', 'it could not be done');

  command(
    program,
    'interrupt <session>',
    'stop what waits, and go on with something else or end the run',
    async (options, [id = ''], output) => {
      const { interruptCommand } = await import('./commands/interrupt.ts');
      const say = text(options, 'say');
      return await interruptCommand(
        await dataDir(options),
        { id: await sessionArgument(id), ...(say === undefined ? {} : { say }) },
        output,
      );
    },
  ).option('--say <text>', 'what the run goes on with; without it, the run ends');

  for (const to of ['pause', 'resume'] as const) {
    command(program, `${to} <session>`, PAUSES[to], async (options, [id = ''], output) => {
      const { pauseCommand } = await import('./commands/pause.ts');
      return await pauseCommand({ dataDir: await dataDir(options), id: await sessionArgument(id), to }, output);
    });
  }

  command(
    program,
    'policy <session> [preset]',
    'whom the calls of a session ask',
    async (options, [id = '', name], output) => {
      const { policyCommand } = await import('./commands/policy.ts');
      const tools = text(options, 'tool');
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
  ).option('--tool <id=permission,…>', 'exceptions: always_allow, always_ask or deny for single tools');
}

const PAUSES = {
  pause: 'start nothing more in a session until it is resumed',
  resume: 'go on with a paused run, or with a fork',
} as const;

const answerOf = async (options: Options, call: string) => {
  const session = text(options, 'session');
  return {
    dataDir: await dataDir(options),
    call,
    ...(session === undefined ? {} : { session: await sessionArgument(session) }),
  };
};
