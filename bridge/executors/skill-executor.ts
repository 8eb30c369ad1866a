// Runs calls of the toolset `skill`: lists, searches and reads skills, and runs those that have a command. The executor of a call
// holds the digest that the session has of the files: it is compared with the files as they are now, in memory, and exactly
// the bytes that were compared are read or run. Files that changed since are not.
import type { JsonObject } from '../../schemas/json.ts';
import { SKILL_READ_BYTES_MAX } from '../../schemas/limits.ts';
import { searchSkills, skillsAfter } from '../../src/skills/find-skills.ts';
import { type LoadedSkill, SKILL_FILE, type Skill, type SkillSet, readSkill } from '../../src/skills/read-skills.ts';
import { SKILL_READERS, type SkillReader } from '../../src/skills/skill-tools.ts';
import { optionalCount, optionalText, requiredText } from '../host/arguments.ts';
import type { Host } from '../host/open-host.ts';
import { ToolFault, failed } from '../host/outcome.ts';
import { type CallReport, failedReport } from './call-report.ts';
import type { CallContext, CallTarget, Executor } from './executors.ts';
import { reportHostRun } from './host-executor.ts';

export interface SkillExecutorOptions {
  readonly skills: { current(): SkillSet };
  readonly host: Pick<Host, 'runSkill' | 'place'>;
}

export function skillExecutor({ skills, host }: SkillExecutorOptions): Executor {
  return {
    tools: ['skill.*'],
    place: host.place,
    async run(call, args, context) {
      const { executor } = call;
      if (executor.kind !== 'skill') return failedReport('executor_missing', `"${call.tool_id}" is no skill`);
      try {
        const set = skills.current();
        const reader = SKILL_READERS.find((name) => name === executor.skill);
        if (reader === undefined) return await runSkill(call, args, context, { host, set });
        if (executor.digest !== set.digest) throw changed('the skills of this bridge');
        return { success: true, ...READERS[reader](args, set) };
      } catch (error) {
        const { code = 'skill_failed', text } = failed(error);
        return failedReport(code, text.slice(code.length + 2));
      }
    },
  };
}

const changed = (what: string): ToolFault =>
  new ToolFault(
    'definition_changed',
    `${what} changed since this tool was offered, so nothing was read or run; an operator must approve the present files first`,
  );

async function runSkill(
  call: CallTarget,
  args: JsonObject,
  context: CallContext,
  { host, set }: { readonly host: SkillExecutorOptions['host']; readonly set: SkillSet },
): Promise<CallReport> {
  const { skill: name, digest } = call.executor as Extract<CallTarget['executor'], { readonly kind: 'skill' }>;
  const loaded = loadAsPinned(set, name, digest);
  if (loaded.command === null) throw changed(`the skill "${name}"`);
  const run = { argv: loaded.command.run, files: loaded.contents, args };
  return await reportHostRun((limits) => host.runSkill(run, { sessionId: call.session_id, ...limits }), context);
}

/** The skill with its bytes, which have this digest. */
function loadAsPinned({ skills }: SkillSet, name: string, digest: string | undefined): LoadedSkill {
  const known = skills.find((skill) => skill.name === name);
  const loaded = known === undefined ? null : readSkill(known.root, name);
  if (loaded === null || Array.isArray(loaded)) throw changed(`the skill "${name}"`);
  if (digest === undefined || (loaded as LoadedSkill).digest !== digest) throw changed(`the skill "${name}"`);
  return loaded as LoadedSkill;
}

type Answer = Pick<CallReport, 'text' | 'data'>;

const READERS: Readonly<Record<SkillReader, (args: JsonObject, set: SkillSet) => Answer>> = {
  skills_list(args, { skills }) {
    const [page, more] = skillsAfter(skills, optionalText(args, 'after') ?? '');
    const next = more ? `\n[more skills: call again with after "${page.at(-1)?.name}"]` : '';
    return { text: `${listed(page)}${next}`, data: { skills: page.map(({ name }) => name), more } };
  },
  skills_search(args, { skills }) {
    const found = searchSkills(skills, requiredText(args, 'query'));
    const text = found.length === 0 ? 'no skill has these words; list all with skills_list' : listed(found);
    return { text, data: { skills: found.map(({ name }) => name) } };
  },
  skills_read: (args, set) => readSkillFile(args, set),
};

const listed = (skills: readonly Skill[]): string =>
  skills.length === 0
    ? 'there are no more skills'
    : skills.map(({ name, description }) => `${name}: ${description.replaceAll(/\s+/g, ' ')}`).join('\n');

function readSkillFile(args: JsonObject, set: SkillSet): Answer {
  const name = requiredText(args, 'name');
  const known = set.skills.find((skill) => skill.name === name);
  if (known === undefined)
    throw new ToolFault('not_found', `there is no skill ${JSON.stringify(name)}; find its name with skills_search`);
  const loaded = loadAsPinned(set, name, known.digest);
  const path = optionalText(args, 'path') ?? SKILL_FILE;
  const file = loaded.contents.find((one) => one.path === path);
  if (file === undefined)
    throw new ToolFault(
      'not_found',
      `the skill "${name}" has no file ${JSON.stringify(path)}; its files: ${filesOf(loaded)}`,
    );
  const isHead = path === SKILL_FILE;
  const bytes = isHead ? Buffer.from(loaded.instructions) : file.bytes;
  const at = Math.min(optionalCount(args, 'offset_bytes', 0, bytes.length) ?? 0, bytes.length);
  const [text, end] = textAt(bytes, at, path);
  const more = end < bytes.length ? `\n[${bytes.length - end} bytes more: call again with offset_bytes ${end}]` : '';
  const others = isHead && at === 0 && loaded.files.length > 1 ? `\n[files of the skill: ${filesOf(loaded)}]` : '';
  return {
    text: `${text}${more}${others}` || '(the file is empty)',
    data: { name, path, bytes: bytes.length, end_bytes: end, digest: loaded.digest },
  };
}

const filesOf = ({ files }: Skill): string => files.map(({ path }) => path).join(', ');

/** The text from a byte on, and where it ends: never within a character. */
function textAt(bytes: Buffer, from: number, path: string): readonly [text: string, end: number] {
  const continues = (at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  let [start, end] = [from, Math.min(from + SKILL_READ_BYTES_MAX, bytes.length)];
  while (start < end && continues(start)) start += 1;
  while (end > start && end < bytes.length && continues(end)) end -= 1;
  try {
    return [new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(start, end)), end];
  } catch {
    throw new ToolFault('not_text', `${path} is not UTF-8 text, so it cannot be read here; the skill uses it itself`);
  }
}
