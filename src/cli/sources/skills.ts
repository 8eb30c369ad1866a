// `refold skills`: what a bridge reads of directories of skills, and everything that is wrong there. It reads files alone: which skills
// a session may use is the session's (`refold show`), and an operator approves them with `refold toolsets approve`.
import { paint } from '../../shown/paint.ts';
import { visible } from '../../shown/visible.ts';
import {
  SKILL_FILE,
  type Skill,
  type SkillFault,
  type SkillSet,
  readSkill,
  readSkills,
} from '../../skills/read-skills.ts';
import { SKILL_TOOLSET, commandSpec } from '../../skills/skill-tools.ts';
import { CommandFailure, type Output } from '../output.ts';

export interface SkillsCommand {
  readonly action: string;
  /** Absolute paths. */
  readonly directories: readonly string[];
  readonly name?: string;
}

/** The exit code is 1 when something is wrong with a skill. */
export async function skillsCommand({ action, directories, name }: SkillsCommand, output: Output): Promise<number> {
  const set = await readSkills(directories, () => Promise.resolve());
  if (action === 'list') return list(set, output);
  if (action !== 'show') throw misuse(`there is no action "${action}"; use list or show`);
  if (name === undefined) throw misuse('name the skill: refold skills show NAME');
  return show(set, name, output);
}

function list({ skills, faults }: SkillSet, output: Output): number {
  for (const skill of skills) {
    const { name, description, digest, root, command, files } = skill;
    output.object({
      event: 'skill',
      name,
      description,
      digest,
      directory: root,
      runs: command !== null,
      files: files.length,
    });
    const runs = command === null ? '' : `  ${paint.dim(`tool ${SKILL_TOOLSET}.${name}`)}`;
    output.line(`${paint.bold(name)}  ${visible(description)}${runs}`);
    output.line(`  ${paint.dim(digest)}`);
  }
  if (skills.length === 0 && faults.length === 0) output.line('no skills');
  tellFaults(faults, output);
  return faults.length > 0 ? 1 : 0;
}

function show({ skills, faults }: SkillSet, name: string, output: Output): number {
  const skill = skills.find((one) => one.name === name);
  const about = faults.filter(({ file }) => file.includes(`/${name}/`) || file.endsWith(`/${name}`));
  if (skill === undefined && about.length > 0) {
    tellFaults(about, output);
    return 1;
  }
  if (skill === undefined)
    throw new CommandFailure('not_found', `there is no skill "${name}"; list them: refold skills list`);
  const instructions = instructionsOf(skill);
  const spec = commandSpec(skill);
  const { fields, digest, files, root, command } = skill;
  output.object({ event: 'skill', name, digest, directory: root, fields, files, tool: spec, instructions });
  output.line(`${paint.bold(name)}  ${visible(skill.description)}`);
  output.line(`folder  ${root}/${name}`);
  output.line(`digest  ${digest}`);
  for (const { path, bytes, digest: content } of files) output.line(`  ${content}  ${bytes}  ${path}`);
  if (command !== null && spec !== null) {
    output.line(`tool    ${spec.tool_id}, ${spec.tool_name} for models`);
    output.line(
      `runs    ${command.run.map((part) => JSON.stringify(part)).join(' ')}, at most ${command.timeout_ms} ms`,
    );
    output.line(`schema  ${JSON.stringify(command.input_schema)}`);
  }
  output.line();
  for (const line of instructions.trimEnd().split('\n')) output.line(visible(line));
  return 0;
}

function instructionsOf({ root, name }: Skill): string {
  const read = readSkill(root, name);
  if ('instructions' in read) return read.instructions;
  throw new CommandFailure('not_found', `${root}/${name}/${SKILL_FILE} changed while it was read; try again`);
}

function tellFaults(faults: readonly SkillFault[], output: Output): void {
  for (const fault of faults) {
    output.object({ event: 'fault', ...fault });
    const at = fault.at === '' ? '' : ` at ${fault.at}`;
    output.line(visible(`${paint.red('left out')} ${fault.file}${at}: ${fault.message}`));
  }
}

const misuse = (message: string): CommandFailure => new CommandFailure('invalid_shape', message);
