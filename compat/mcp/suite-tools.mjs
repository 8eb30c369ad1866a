// The tools that the conformance suite of MCP calls, as tools of refold: specs, and an executor of a bridge that runs them. What
// asks the host's person before it runs is a call for a person (`custom`), whose output schema is the form.
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool } from '../../dist/schemas/index.js';

// A PNG of one red pixel, and a WAV without samples.
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

const form = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required });
/** A form whose answer has this key. */
const named = (title, properties) => ({ ...form(properties), title });

const text = (words) => ({ type: 'text', text: words });
const resource = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });
const embedded = resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.');
const mixed = resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}');

/** What each tool says: a text, blocks of content, or a failure. */
const RUNS = {
  test_simple_text: () => 'This is a simple text response for testing.',
  test_image_content: () => ({ image: PNG }),
  test_audio_content: () => [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  test_embedded_resource: () => [embedded],
  test_multiple_content_types: () => [
    text('Multiple content types test:'),
    { type: 'image', data: PNG, mimeType: 'image/png' },
    mixed,
  ],
  test_error_handling: () => {
    throw new Error('This tool intentionally returns an error for testing');
  },
  test_tool_with_progress: () => 'Tool with progress executed successfully',
  test_tool_with_logging: () => 'Tool with logging executed successfully',
  test_logging_tool: () => 'Nothing is logged to the host',
  test_headers: ({ region }) => `region ${region}`,
  json_schema_2020_12_tool: () => 'valid',
  greet: ({ name }) => `Hello, ${name}!`,
  test_reconnection: () => 'the answer',
};

/** Tools that last, or ask while they run. */
const LASTS = {
  slow_compute: async ({ seconds }, { signal }) => {
    await sleep(seconds * 1_000, undefined, { signal });
    return { success: true, text: `computed for ${seconds} s` };
  },
  failing_job: async (_args, { signal }) => {
    await sleep(1_500, undefined, { signal });
    throw new Error('the job failed');
  },
  // Its bridge dies in the middle of the call (dying-bridge.mjs).
  protocol_error_job: null,
  confirm_delete: async ({ filename }, { ask }) => {
    const { action } = await ask({ message: `Delete ${filename}?`, schema: form({ confirm: { type: 'boolean' } }) });
    return { success: true, text: `${filename}: ${action}` };
  },
};

const asks = (title, properties) => ({ message: `${title}?`, schema: named(title, properties) });
const string = { type: 'string' };

/** Tools whose attempts end with questions, and what each says in the end. */
const ROUNDS = {
  test_input_required_result_request_state: {
    questions: [asks('confirm', { ok: { type: 'boolean' } })],
    end: () => 'state-ok',
  },
  test_input_required_result_multi_round: {
    questions: [asks('step1', { name: string }), asks('step2', { color: string })],
    end: ([{ name }, { color }]) => `${name} likes ${color}`,
  },
  test_tool_with_task: {
    questions: [asks('user_name', { name: string })],
    end: async ([{ name }]) => {
      await sleep(1_500);
      return `Hello, ${name}!`;
    },
  },
};

/** Asks what is left to ask; the answers so far are the state of the next attempt. */
async function nextRound({ questions, end }, resume) {
  const answers = JSON.parse(resume?.state ?? '[]');
  if (resume?.answer !== undefined) answers.push(resume.answer.content);
  const ask = questions[answers.length];
  return ask === undefined ? { success: true, text: await end(answers) } : { ask, state: JSON.stringify(answers) };
}

const HEADERS = {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
};

const JSON_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const SECONDS = { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } };

const INPUTS = { slow_compute: SECONDS, json_schema_2020_12_tool: JSON_SCHEMA, test_headers: HEADERS };

/** The forms of the tools that a person fulfils. */
const FORMS = {
  test_elicitation: form({
    username: { ...string, description: "User's response" },
    email: { ...string, description: "User's email address" },
  }),
  test_elicitation_sep1034_defaults: form(
    {
      name: { ...string, default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { ...string, enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
    [],
  ),
  test_elicitation_sep1330_enums: form(
    {
      untitledSingle: { ...string, enum: ['option1', 'option2', 'option3'] },
      titledSingle: {
        ...string,
        oneOf: [
          { const: 'value1', title: 'First Option' },
          { const: 'value2', title: 'Second Option' },
          { const: 'value3', title: 'Third Option' },
        ],
      },
      legacyEnum: {
        ...string,
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { ...string, enum: ['option1', 'option2', 'option3'] } },
      titledMulti: {
        type: 'array',
        items: {
          anyOf: [
            { const: 'value1', title: 'First Choice' },
            { const: 'value2', title: 'Second Choice' },
            { const: 'value3', title: 'Third Choice' },
          ],
        },
      },
    },
    [],
  ),
  test_input_required_result_elicitation: named('user_name', { name: string }),
  test_input_required_result_capabilities: named('user_name', { name: string }),
  test_input_required_result_tampered_state: named('confirm', { ok: { type: 'boolean' } }),
  test_streaming_elicitation: named('user_name', { name: string }),
};

const specOf = (name, rest) =>
  defineTool({
    tool_id: `suite.${name}`,
    tool_name: name,
    description: `A tool of the conformance suite: ${name}`,
    input_schema: INPUTS[name] ?? { type: 'object', properties: { message: string } },
    ...rest,
  });

const RUN = { executor: { kind: 'host_loop', bridge: 'suite' }, parallelism_hint: { parallel_safe: true } };
const ASK = { executor: { kind: 'custom' }, ownership: 'custom', parallelism_hint: { parallel_safe: true } };

const LONG = { ...RUN, interrupt_behavior: 'cancel' };

export const TOOLS = [
  ...[...Object.keys(LASTS), ...Object.keys(ROUNDS)].map((name) => specOf(name, LONG)),
  ...Object.keys(RUNS).map((name) => specOf(name, { ...RUN, read_only: true, destructive: false })),
  ...Object.entries(FORMS).map(([name, output_schema]) => specOf(name, { ...ASK, output_schema })),
];

export const executor = {
  tools: TOOLS.map(({ tool_id }) => tool_id).filter((id) => id !== 'suite.protocol_error_job'),
  resumes: true,
  async run({ tool_id }, args, context) {
    const name = tool_id.slice('suite.'.length);
    const { putBlob, resume } = context;
    try {
      if (LASTS[name] !== undefined) return await LASTS[name](args, context);
      if (ROUNDS[name] !== undefined) return await nextRound(ROUNDS[name], resume);
      const said = RUNS[name](args);
      if (typeof said === 'string') return { success: true, text: said };
      if (Array.isArray(said)) return { success: true, text: 'blocks', data: { content: said } };
      const bytes = Buffer.from(said.image, 'base64');
      const ref = await putBlob(bytes);
      return { success: true, text: '', attachments: [{ ref, bytes: bytes.length, media_type: 'image/png' }] };
    } catch (error) {
      return { success: false, code: 'failed', text: error.message };
    }
  },
};
