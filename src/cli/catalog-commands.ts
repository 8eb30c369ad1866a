// The options and help of `refold catalog` and `refold skills`.
import { resolve } from 'node:path';
import { Option } from 'commander';
import { type Options, type Program, command, dataDir, sessionArgument, textOption, textsOption } from './command.ts';

export function addCatalog(program: Program): void {
  command(
    program,
    'catalog <action> [path-or-name]',
    'check a catalog, list its tools, show an entry, or explain what becomes of it',
    async (options, [action = '', name], output) => {
      const { catalogCommand } = await import('./sources/catalog.ts');
      const session = textOption(options, 'session');
      const path = catalogPath(options) ?? undefined;
      return await catalogCommand(
        {
          action,
          ...(name === undefined ? {} : { name }),
          ...(path === undefined ? {} : { path }),
          strict: options['strict'] === true,
          dataDir: await dataDir(options),
          ...(session === undefined ? {} : { session: await sessionArgument(session) }),
        },
        output,
      );
    },
  )
    .option('--catalog <path>', 'the file or directory of the catalog (default: $CATALOG_DIR)')
    .option('--strict', 'with check: close names and arguments without a description fail it, too')
    .option('--session <id>', 'with explain: whether the tool is offered in this session, and why');
}

export function addSkills(program: Program): void {
  command(
    program,
    'skills <action> [name]',
    'list the skills of directories, or show one with its files and digests',
    async (options, [action = '', name], output) => {
      const { skillsCommand } = await import('./sources/skills.ts');
      const named = textsOption(options, 'skills');
      const directories = (named.length === 0 ? ['.refold/skills'] : named).map((path) => resolve(path));
      return await skillsCommand({ action, directories, ...(name === undefined ? {} : { name }) }, output);
    },
  ).addOption(skillsOption('.refold/skills'));
}

/** `--skills DIR`, which may be repeated. */
export const skillsOption = (fallback: string): Option =>
  new Option(
    '--skills <dir>',
    `a directory of skills, each a folder with a SKILL.md; may be repeated (default: ${fallback})`,
  ).argParser((directory: string, before: readonly string[] | undefined) => [...(before ?? []), directory]);

export const skillsTrustOption = (): Option =>
  new Option(
    '--skills-trust <when>',
    'ask: an operator approves skills before they are used; first: those that a session gets first are approved',
  )
    .choices(['ask', 'first'])
    .default('ask');

/** The catalog that the options or the environment name, as an absolute path. */
export function catalogPath(options: Options): string | null {
  const path = textOption(options, 'catalog') ?? (process.env['CATALOG_DIR'] || undefined);
  return path === undefined ? null : resolve(path);
}
