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
const FOLDER = nonEmpty('Folder to look in, relative to the workspace; the whole workspace when absent.');

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

/** A tool that changes files below its `path`. */
const writing = (definition: Omit<Definition, 'mode'>): ToolSpec =>
  hostTool({
    mode: 'safe_write',
    destructive: false,
    interrupt_behavior: 'block',
    effects: ['fs.write'],
    parallelism_hint: onPath('write'),
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
      'Open a session on the host: the workspace and its tools become available from the next turn on. ' +
      'Call it once, before any file or shell tool.',
    input_schema: input({
      target: { type: 'object', description: 'Where to open it; the local workspace when absent.' },
      session_ttl_ms: count('Close the session by itself after this many milliseconds.'),
      labels: { type: 'object', additionalProperties: { type: 'string' }, description: 'Notes for people.' },
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
    description: 'Stop the commands of the host session ("term", "kill"), or close the session ("close").',
    input_schema: input(
      {
        signal: { enum: ['term', 'kill', 'close'], description: 'What to do.' },
        grace_timeout_ms: count('How long "term" waits before it kills, in milliseconds.'),
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
      'Run one command in the workspace and return its exit code and output. The command is a list of arguments, ' +
      'not a shell line: use ["sh", "-c", "..."] for pipes. No network. Prefer the file tools for reading and editing.',
    input_schema: input(
      {
        argv: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          description: 'The command and its arguments, e.g. ["node", "--test"].',
        },
        cwd: nonEmpty('Folder to run it in, relative to the workspace.'),
        timeout_ms: count('Stop it after this many milliseconds.'),
        env: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'Further environment variables.',
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
    description: 'Read one text file of the workspace. Returns its text; long files can be read in parts.',
    input_schema: input(
      {
        path: PATH,
        offset_bytes: { type: 'integer', minimum: 0, description: 'Where to begin, in bytes.' },
        max_bytes: count('How much to read at most, in bytes.'),
        encoding: { enum: ['utf8', 'bytes'], description: '"bytes" returns base64, for files that are not text.' },
      },
      ['path'],
    ),
    output_bytes_max: 50_000,
  }),
  reading({
    tool_id: 'host.fs.list_dir',
    tool_name: 'list_dir',
    description: 'List one folder of the workspace, sorted by name; folders end with "/".',
    input_schema: input({ path: FOLDER, max_results: count('How many entries at most; 100 when absent.') }),
    output_bytes_max: 20_000,
  }),
];

const searchTools = (): readonly ToolSpec[] => [
  reading({
    tool_id: 'host.fs.glob',
    tool_name: 'glob',
    description: 'Find files by a glob pattern such as "src/**/*.ts", sorted by path.',
    input_schema: input(
      {
        pattern: nonEmpty('The pattern.'),
        path: FOLDER,
        max_results: count('How many paths at most; 100 when absent.'),
      },
      ['pattern'],
    ),
    output_bytes_max: 20_000,
  }),
  reading({
    tool_id: 'host.fs.grep',
    tool_name: 'grep',
    description:
      'Search the text of files with a regular expression. Returns lines as "path:line:text", sorted by path.',
    input_schema: input(
      {
        pattern: nonEmpty('The regular expression.'),
        path: FOLDER,
        glob_filter: nonEmpty('Search only in files that match this glob pattern.'),
        case_insensitive: boolean('Ignore case.'),
        max_results: count('How many lines at most; 100 when absent.'),
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
    description: 'Tell whether a path exists, whether it is a folder, its size and when it was changed.',
    input_schema: input({ path: PATH }, ['path']),
    output_bytes_max: 1_000,
  }),
  reading({
    tool_id: 'host.fs.exists',
    tool_name: 'exists',
    description: 'Tell whether a path exists.',
    input_schema: input({ path: PATH }, ['path']),
    output_bytes_max: 1_000,
  }),
];

const writingTools = (): readonly ToolSpec[] => [
  writing({
    tool_id: 'host.fs.write_file',
    tool_name: 'write_file',
    description: 'Write a whole file of the workspace, replacing what was there.',
    input_schema: input(
      {
        path: PATH,
        text: string('The whole new text.'),
        create_parents: boolean('Make missing folders.'),
        mode: { enum: ['overwrite', 'create_new'], description: '"create_new" fails when the file exists.' },
      },
      ['path', 'text'],
    ),
    output_bytes_max: 1_000,
  }),
  writing({
    tool_id: 'host.fs.edit_file',
    tool_name: 'edit_file',
    description:
      'Replace one passage of a file. old_string must occur exactly once, unless replace_all is set. ' +
      'An empty new_string deletes the passage.',
    input_schema: input(
      {
        path: PATH,
        old_string: nonEmpty('The passage to replace, with enough around it to be unique.'),
        new_string: string('What stands there instead.'),
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
      'Change several files at once, all or nothing. The patch stands between "*** Begin Patch" and "*** End Patch"; ' +
      'each file begins with "*** Add File: PATH", "*** Update File: PATH" (then "*** Move to: PATH", if moved) or ' +
      '"*** Delete File: PATH". Updates hold hunks: "@@ hint", then lines that begin with " ", "-" or "+".',
    input_schema: input({ patch: nonEmpty('The patch.'), dry_run: boolean('Only tell what would change.') }, ['patch']),
    parallelism_hint: {
      parallel_safe: true,
      claims: [{ space: 'fs', argument: 'patch', form: 'patch', access: 'write' }],
    },
    output_bytes_max: 10_000,
  }),
];
