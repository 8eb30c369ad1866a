// The options and help of `refold token`.
import { type Program, command, dataDir, textOption } from './command.ts';

export function addTokens(program: Program): void {
  command(
    program,
    'token <action> [name]',
    'create, list, rotate or revoke the tokens of an engine; a running engine follows at once',
    async (options, [action = '', name], output) => {
      const { tokenCommand } = await import('./commands/token.ts');
      const listOf = (option: string): readonly string[] | undefined =>
        textOption(options, option)
          ?.split(',')
          .map((entry) => entry.trim());
      const [kinds, tools] = [listOf('kinds'), listOf('tools')];
      const access = {
        scope: textOption(options, 'scope') ?? 'operator',
        ...(kinds === undefined ? {} : { kinds }),
        ...(tools === undefined ? {} : { tools }),
      };
      return await tokenCommand({ dataDir: await dataDir(options), action, name, access }, output);
    },
  )
    .option('--scope <scope>', 'with create: operator, bridge or viewer')
    .option('--kinds <kinds>', 'with create: the only event kinds it may submit, separated by commas')
    .option('--tools <tools>', 'with create: the only tools whose calls it may answer, exact or ending in *');
}
