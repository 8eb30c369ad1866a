// Skills as tools of the toolset `skill`: three that list, search and read them, and one for each skill that has a command. What
// is pinned is the definition of each tool: it holds the digests of the files, so that no byte changes without a new approval.
import { canonicalText } from '../../schemas/canonical.ts';
import { defineTool } from '../../schemas/define-tool.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { Json, JsonObject } from '../../schemas/json.ts';
import { SKILL_READ_BYTES_MAX } from '../../schemas/limits.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { nameWithin } from '../files/tool-names.ts';
import type { Skill, SkillSet } from './read-skills.ts';

/** The name of the toolset, with which the ids of its tools begin. */
export const SKILL_TOOLSET = 'skill';

/** The tools that read skills. No skill has such a name: theirs have no underscore. */
export const SKILL_READERS = ['skills_list', 'skills_search', 'skills_read'] as const;
export type SkillReader = (typeof SKILL_READERS)[number];

/** A tool, and the canonical JSON text of everything that is said of it. */
export interface DefinedTool {
  /** The text: its digest pins the tool. */
  readonly definition: string;
  /** What it became. */
  readonly spec: ToolSpec;
}

/** In the order of their ids; none when there are no skills. */
export function skillTools({ skills, digest }: Pick<SkillSet, 'skills' | 'digest'>): readonly DefinedTool[] {
  if (skills.length === 0) return [];
  const known = skills.map(({ name, description, digest: folder }) => ({ name, description, digest: folder }));
  const readers = SKILL_READERS.map((reader) => withDefinition(readerSpec(reader, digest), { skills: known }));
  const runnable = skills.flatMap((skill) => {
    const spec = commandSpec(skill);
    return spec === null ? [] : [withDefinition(spec, definitionOf(skill))];
  });
  return [...readers, ...runnable].toSorted((a, b) => (a.spec.tool_id < b.spec.tool_id ? -1 : 1));
}

/** Everything that is said of a skill: its fields and the digests of its files. */
const definitionOf = ({ name, digest, fields, files }: Skill): JsonObject => ({
  name,
  digest,
  fields,
  files: files.map(({ path, bytes, digest: content }) => ({ path, bytes, digest: content })),
});

const withDefinition = (spec: ToolSpec, source: Json): DefinedTool => ({
  definition: canonicalText({ source, tool: spec as unknown as Json }),
  spec,
});

const string = (description: string): JsonObject => ({ type: 'string', minLength: 1, description });

const READERS: Readonly<
  Record<SkillReader, { readonly description: string; readonly properties: JsonObject; readonly required: string[] }>
> = {
  skills_list: {
    description:
      'List the skills: instructions for particular tasks, with their files. Returns names and descriptions. Read a skill with ' +
      'skills_read before you do what it is for.',
    properties: { after: string('List the skills after this name, when an answer says that there are more.') },
    required: [],
  },
  skills_search: {
    description:
      'Find skills by words of their names and descriptions. Returns names and descriptions, the best first.',
    properties: { query: string('The words, such as "pdf forms".') },
    required: ['query'],
  },
  skills_read: {
    description:
      'Read the instructions of a skill, with the list of its files, or one of these files. Follow the instructions of a skill ' +
      'when you do what it is for.',
    properties: {
      name: string('The name of the skill.'),
      path: string('A file of the skill, as its list of files names it. Default: its instructions.'),
      offset_bytes: { type: 'integer', minimum: 0, description: 'Where to start in the file, in bytes. Default: 0.' },
    },
    required: ['name'],
  },
};

function readerSpec(reader: SkillReader, digest: Digest): ToolSpec {
  const { description, properties, required } = READERS[reader];
  return defineTool({
    tool_id: `${SKILL_TOOLSET}.${reader}`,
    tool_name: reader,
    description,
    input_schema: { type: 'object', properties, required, additionalProperties: false },
    executor: { kind: 'skill', skill: reader, digest },
    mode: 'read',
    read_only: true,
    destructive: false,
    idempotent: true,
    open_world: false,
    interrupt_behavior: 'cancel',
    effects: ['skill.read'],
    parallelism_hint: { parallel_safe: true },
    timeout_ms: 30_000,
    output_bytes_max: 2 * SKILL_READ_BYTES_MAX,
  });
}

/** The tool of a skill with a command; null for one that is only read. */
export function commandSpec({ name, description, digest, command }: Skill): ToolSpec | null {
  if (command === null) return null;
  return defineTool({
    tool_id: `${SKILL_TOOLSET}.${name}`,
    tool_name: nameWithin(`${SKILL_TOOLSET}__${name}`),
    description,
    input_schema: command.input_schema,
    ...RUNS_IN_SANDBOX,
    executor: { kind: 'skill', skill: name, digest },
    timeout_ms: command.timeout_ms,
  });
}

/** What is true of every command that a skill runs: it may do whatever a command may do in the sandbox. */
export const RUNS_IN_SANDBOX = {
  mode: 'local',
  open_world: false,
  interrupt_behavior: 'cancel',
  effects: ['process', 'fs.read', 'fs.write'],
  availability_rules: ['host_session_ready'],
  parallelism_hint: { parallel_safe: false, resource_key: 'host.exec' },
} as const satisfies Partial<ToolSpec>;
