// The specs of the host tools: what the model sees, what they affect, and when they are available (AOS P7, "Host Session
// Gating Semantics"). Their executors are the rows of bridge/host/host-tools.ts, by tool id;
// test/toolsets/tool-executors.test.ts checks that each spec has one.
import { defineTool } from '../../schemas/define-tool.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { ClaimRule, ToolSpec } from '../../schemas/tool-spec.ts';

const string = (description: string): JsonObject => ({ type: 'string', description });
const nonEmpty = (description: string): JsonObject => ({ type: 'string', minLength: 1, description });
const boolean = (description: string): JsonObject => ({ type: 'boolean', description });
const count = (description: string): JsonObject => ({ type: 'integer', minimum: 1, description });

const input = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const PATH = nonEmpty('Path of the file, relative to the workspace.');
const FILE_OR_FOLDER = nonEmpty('Path of the file or folder, relative to the workspace.');
const FOLDER = nonEmpty('Path of the folder, relative to the workspace. Default: the whole workspace.');

const onPath = (access: ClaimRule['access']): ToolSpec['parallelism_hint'] => ({
  parallel_safe: true,
  claims: [{ space: 'fs', argument: 'path', form: 'path', access }],
});

type Definition = Parameters<typeof defineTool>[0];

/** A tool that only reads: its call may be repeated, and runs beside others on its `path`. */
const reading = (definition: Omit<Definition, 'mode'>): ToolSpec =>
  hostTool({
    mode: 'read',
    read_only: true,
    destructive: false,
    idempotent: true,
    interrupt_behavior: 'cancel',
    effects: ['fs.read'],
    parallelism_hint: onPath('read'),
    ...definition,
  });

/** A tool that changes files, and can say beforehand how. */
const writing = (definition: Omit<Definition, 'mode'>): ToolSpec =>
  hostTool({
    mode: 'safe_write',
    destructive: false,
    interrupt_behavior: 'block',
    effects: ['fs.write'],
    parallelism_hint: onPath('write'),
    preview: true,
    ...definition,
  });

const hostTool = (definition: Definition): ToolSpec =>
  defineTool({
    open_world: false,
    executor: { effect_kind: definition.tool_id, kind: 'effect' },
    availability_rules: ['host_session_ready'],
    ...definition,
  });

/** The specs of all host tools. */
export const hostTools = (): readonly ToolSpec[] => [
  ...sessionTools(),
  ...readingTools(),
  ...searchTools(),
  ...pathTools(),
  ...writingTools(),
];

const sessionTools = (): readonly ToolSpec[] => [
  hostTool({
    tool_id: 'host.session.open',
    tool_name: 'open_session',
    description:
      'Open a session on the host. The file and shell tools become available in the next turn. ' +
      'Call this once, before you use them.',
    input_schema: input({
      target: { type: 'object', description: 'Where to open the session. Default: the local workspace.' },
      session_ttl_ms: count('Close the session after this many milliseconds.'),
      labels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Labels for people to read.' },
    }),
    mode: 'safe_write',
    destructive: false,
    idempotent: true,
    effects: ['host.session'],
    availability_rules: ['always'],
    parallelism_hint: { parallel_safe: false, resource_key: 'host.session' },
  }),
  hostTool({
    tool_id: 'host.session.signal',
    tool_name: 'signal_session',
    description: 'Stop the commands that run in the host session ("term", "kill"), or close the session ("close").',
    input_schema: input(
      {
        signal: {
          enum: ['term', 'kill', 'close'],
          description: '"term" and "close" ask the commands to stop, and kill them after the grace period.',
        },
        grace_timeout_ms: count('The grace period, in milliseconds.'),
      },
      ['signal'],
    ),
    mode: 'local',
    effects: ['host.session', 'process'],
    parallelism_hint: { parallel_safe: false, resource_key: 'host.session' },
  }),
  hostTool({
    tool_id: 'host.exec',
    tool_name: 'shell',
    description:
      'Run one command in the workspace. Returns its exit code and output. The command is a list of arguments, not a ' +
      'shell line; for pipes, use ["sh", "-c", "..."]. In the sandbox "bwrap" it has no network but its own loopback, and ' +
      'cannot write or leave git directories; without a sandbox ("none") it has the network of the host. open_session ' +
      'says which is in force. To read or edit files, prefer the file tools.',
    input_schema: input(
      {
        argv: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          description: 'The command and its arguments, e.g. ["node", "--test"].',
        },
        cwd: nonEmpty('Folder to run it in, relative to the workspace. Default: the workspace.'),
        timeout_ms: count('Stop the command after this many milliseconds.'),
        env: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'Additional environment variables.',
        },
        stdin: string('Text for its standard input.'),
      },
      ['argv'],
    ),
    mode: 'local',
    effects: ['process', 'fs.read', 'fs.write'],
    interrupt_behavior: 'cancel',
    parallelism_hint: { parallel_safe: false, resource_key: 'host.exec' },
  }),
];

const readingTools = (): readonly ToolSpec[] => [
  reading({
    tool_id: 'host.fs.read_file',
    tool_name: 'read_file',
    description:
      'Read one text file of the workspace. Returns its text. Read a long file in parts, with offset_bytes and max_bytes.',
    input_schema: input(
      {
        path: PATH,
        offset_bytes: { type: 'integer', minimum: 0, description: 'Where to start, in bytes. Default: 0.' },
        max_bytes: count('The most bytes to read.'),
        encoding: {
          enum: ['utf8', 'bytes'],
          description: 'Use "bytes" for files that are not text; it returns base64. Default: "utf8".',
        },
      },
      ['path'],
    ),
    output_bytes_max: 50_000,
  }),
  reading({
    tool_id: 'host.fs.list_dir',
    tool_name: 'list_dir',
    description: 'List the entries of one folder, sorted by name. The names of folders end with "/".',
    input_schema: input({ path: FOLDER, max_results: count('The most entries to return. Default: 100.') }),
    output_bytes_max: 20_000,
  }),
];

const searchTools = (): readonly ToolSpec[] => [
  reading({
    tool_id: 'host.fs.glob',
    tool_name: 'glob',
    description: 'Find files by a glob pattern such as "src/**/*.ts". Returns their paths, sorted.',
    input_schema: input(
      {
        pattern: nonEmpty('The glob pattern.'),
        path: FOLDER,
        max_results: count('The most paths to return. Default: 100.'),
      },
      ['pattern'],
    ),
    output_bytes_max: 20_000,
  }),
  reading({
    tool_id: 'host.fs.grep',
    tool_name: 'grep',
    description:
      'Search the text of files with a regular expression. Returns matching lines as "path:line:text", sorted by path.',
    input_schema: input(
      {
        pattern: nonEmpty('The regular expression.'),
        path: FOLDER,
        glob_filter: nonEmpty('Search only files that match this glob pattern.'),
        case_insensitive: boolean('Ignore case.'),
        max_results: count('The most lines to return. Default: 100.'),
      },
      ['pattern'],
    ),
    output_bytes_max: 20_000,
  }),
];

const pathTools = (): readonly ToolSpec[] => [
  reading({
    tool_id: 'host.fs.stat',
    tool_name: 'stat',
    description: 'Get the type, size and modification time of a file or folder. Fails if it does not exist.',
    input_schema: input({ path: FILE_OR_FOLDER }, ['path']),
    output_bytes_max: 1_000,
  }),
  reading({
    tool_id: 'host.fs.exists',
    tool_name: 'exists',
    description: 'Check whether a file or folder exists.',
    input_schema: input({ path: FILE_OR_FOLDER }, ['path']),
    output_bytes_max: 1_000,
  }),
];

const writingTools = (): readonly ToolSpec[] => [
  writing({
    tool_id: 'host.fs.write_file',
    tool_name: 'write_file',
    description: 'Write a whole file of the workspace. Replaces the file if it exists.',
    input_schema: input(
      {
        path: PATH,
        text: string('The complete new text of the file.'),
        create_parents: boolean('Create missing folders.'),
        mode: {
          enum: ['overwrite', 'create_new'],
          description: '"create_new" fails if the file exists. Default: "overwrite".',
        },
      },
      ['path', 'text'],
    ),
    output_bytes_max: 1_000,
  }),
  writing({
    tool_id: 'host.fs.edit_file',
    tool_name: 'edit_file',
    description:
      'Replace a passage of a file. old_string must occur exactly once, unless replace_all is true. ' +
      'An empty new_string deletes the passage.',
    input_schema: input(
      {
        path: PATH,
        old_string: nonEmpty('The passage to replace, with enough context to be unique.'),
        new_string: string('The new text of the passage.'),
        replace_all: boolean('Replace every occurrence.'),
      },
      ['path', 'old_string', 'new_string'],
    ),
    output_bytes_max: 10_000,
  }),
  writing({
    tool_id: 'host.fs.apply_patch',
    tool_name: 'apply_patch',
    description:
      'Change several files, all or none. The patch starts with "*** Begin Patch" and ends with "*** End Patch". ' +
      'Each file starts with "*** Add File: PATH", "*** Delete File: PATH" or "*** Update File: PATH", which ' +
      '"*** Move to: PATH" may follow. An update contains hunks: "@@ hint", then lines that start with " ", "-" or "+".',
    input_schema: input(
      { patch: nonEmpty('The patch.'), dry_run: boolean('Report what would change without changing it.') },
      ['patch'],
    ),
    parallelism_hint: {
      parallel_safe: true,
      claims: [{ space: 'fs', argument: 'patch', form: 'patch', access: 'write' }],
    },
    output_bytes_max: 10_000,
  }),
];
