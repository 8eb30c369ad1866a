// The options and help of `refold bench`.
import { journalUrl } from './journal/journal-commands.ts';
import { type Program, command, textOption } from './command.ts';

export function addBench(program: Program): void {
  command(
    program,
    'bench',
    'measure refold on this machine and compare each figure with its limit',
    async (options) => {
      const { benchCommand } = await import('./commands/bench.ts');
      const [only, disk] = [textOption(options, 'only'), textOption(options, 'disk')];
      const journal = journalUrl(options);
      return await benchCommand([
        ...['quick', 'full', 'json'].flatMap((name) => (options[name] === true ? [`--${name}`] : [])),
        ...(only === undefined ? [] : ['--only', only]),
        ...(disk === undefined ? [] : ['--disk', disk]),
        ...(journal === undefined ? [] : ['--journal', journal]),
      ]);
    },
  )
    .option('--quick', 'a short check that it works: few runs of little work')
    .option('--full', 'also the sizes that take long')
    .option('--only <figure>', 'only this figure')
    .option('--journal <url>', 'also the journal in this PostgreSQL database (default: $REFOLD_JOURNAL)')
    .option('--disk <dir>', 'where to write test data (default: the temporary directory)');
}
