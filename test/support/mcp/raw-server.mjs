// An MCP server of raw JSON lines, for tests: it behaves as the name on its command line says, however badly. Nothing of the SDK
// is in it, so it can say what the SDK would not.
import { createInterface } from 'node:readline';

const [, , trick = 'plain', option = ''] = process.argv;
const number = Number(option);

const write = (message) => void process.stdout.write(`${JSON.stringify(message)}\n`);
const answer = (id, result) => write({ jsonrpc: '2.0', id, result });
const refuse = (id, code, message) => write({ jsonrpc: '2.0', id, error: { code, message } });
const notify = (method, params = {}) => write({ jsonrpc: '2.0', method, params });

const schema = { type: 'object', properties: { text: { type: 'string' } } };
const tool = (name, more = {}) => ({ name, description: `does ${name}`, inputSchema: schema, ...more });
const text = (said) => ({ content: [{ type: 'text', text: said }] });

/** What a server is unless its trick says otherwise: it speaks 2025-06-18, and echoes. */
const plain = {
  initialize: ({ id }) =>
    answer(id, {
      protocolVersion: '2025-06-18',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: trick, version: '1' },
    }),
  'server/discover': ({ id }) => refuse(id, -32601, 'Method not found'),
  'tools/list': ({ id }) => answer(id, { tools: [tool('echo')] }),
  'tools/call': ({ id, params }) => answer(id, text(`${params.name} ${JSON.stringify(params.arguments ?? {})}`)),
  ping: ({ id }) => answer(id, {}),
};

const listing = (tools) => ({ 'tools/list': ({ id }) => answer(id, { tools }) });
const calling = (respond) => ({ 'tools/call': respond });
const deep = (levels) => (levels === 0 ? { type: 'string' } : { type: 'object', properties: { p: deep(levels - 1) } });

const updates = [];
let cancelled = false;
let calls = 0;
let pages = 0;
let lists = 0;

/** A server of 2026-07-28, without sessions: every result says what it is. */
const modern = (call, more = {}) => ({
  'server/discover': ({ id }) =>
    answer(id, {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
      ttlMs: 0,
      cacheScope: 'private',
    }),
  'tools/list': ({ id }) =>
    answer(id, { resultType: 'complete', tools: [tool('echo')], ttlMs: 60_000, cacheScope: 'private' }),
  ...calling(call),
  ...more,
});
const complete = (said) => ({ resultType: 'complete', ...text(said) });
const asks = (...requests) => ({
  resultType: 'input_required',
  inputRequests: Object.fromEntries(requests.map(([key, params]) => [key, { method: 'elicitation/create', params }])),
  requestState: 'opaque state',
});
const form = (name) => ({
  message: `Which ${name}?`,
  requestedSchema: { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] },
});
let asked = 0;

const TRICKS = {
  modern: modern(({ id, params }) =>
    answer(id, complete(`modern ${params._meta['io.modelcontextprotocol/protocolVersion']}`)),
  ),
  asks_one: modern(({ id, params }) => {
    const { inputResponses, requestState } = params;
    answer(
      id,
      inputResponses === undefined
        ? asks(['c', form('city')])
        : complete(`${requestState}: ${JSON.stringify(inputResponses)}`),
    );
  }),
  asks_two: modern(({ id, params: { inputResponses } }) =>
    answer(
      id,
      inputResponses === undefined
        ? asks(['c', form('city')], ['d', form('day')])
        : complete(JSON.stringify(inputResponses)),
    ),
  ),
  asks_url: modern(({ id, params: { inputResponses } }) =>
    answer(
      id,
      inputResponses === undefined
        ? asks(['u', { mode: 'url', message: 'Sign in', url: 'https://example.com/in' }])
        : complete(JSON.stringify(inputResponses)),
    ),
  ),
  asks_sampling: modern(({ id }) =>
    answer(id, {
      resultType: 'input_required',
      inputRequests: { s: { method: 'sampling/createMessage', params: {} } },
    }),
  ),
  asks_again: modern(({ id, params }) =>
    answer(
      id,
      ++asked <= number
        ? { resultType: 'input_required', requestState: `round ${asked}` }
        : complete(params.requestState),
    ),
  ),
  unknown_result: modern(({ id }) => answer(id, { resultType: 'mystery' })),
  task: modern(
    ({ id }) =>
      answer(id, { resultType: 'task', taskId: 'task-1', status: 'working', ttlMs: 60_000, pollIntervalMs: 1 }),
    {
      'tasks/get': ({ id, params }) =>
        answer(id, {
          resultType: 'complete',
          taskId: params.taskId,
          pollIntervalMs: 1,
          ...(++asked < 3
            ? { status: 'working' }
            : option === 'failed'
              ? { status: 'failed', error: { code: -1, message: 'out of paper' } }
              : { status: 'completed', result: text(`${params.taskId} is done`) }),
        }),
    },
  ),
  task_asks: modern(
    ({ id }) => answer(id, { resultType: 'task', taskId: 'task-2', status: 'working', pollIntervalMs: 1 }),
    {
      'tasks/get': ({ id, params }) =>
        answer(id, {
          resultType: 'complete',
          taskId: params.taskId,
          pollIntervalMs: 1,
          ...(updates.length === 0
            ? { status: 'input_required', inputRequests: { c: { method: 'elicitation/create', params: form('city') } } }
            : { status: 'completed', result: text(JSON.stringify(updates)) }),
        }),
      'tasks/update': ({ id, params }) => {
        updates.push(params.inputResponses);
        answer(id, { resultType: 'complete' });
      },
    },
  ),
  task_endless: modern(
    ({ id }) => answer(id, { resultType: 'task', taskId: 'task-3', status: 'working', pollIntervalMs: 1 }),
    {
      'tasks/get': ({ id, params }) =>
        answer(id, {
          resultType: 'complete',
          taskId: params.taskId,
          status: cancelled ? 'cancelled' : 'working',
          pollIntervalMs: 1,
        }),
      'tasks/cancel': ({ id }) => {
        cancelled = true;
        answer(id, { resultType: 'complete' });
      },
    },
  ),
  task_deaf: modern(
    ({ id }) => answer(id, { resultType: 'task', taskId: 'task-4', status: 'working', pollIntervalMs: 1 }),
    { 'tasks/get': ({ id }) => answer(id, { taskId: 'task-4', status: 'working' }), 'tasks/cancel': () => undefined },
  ),
  task_without_id: modern(({ id }) => answer(id, { resultType: 'task', status: 'working' })),
  task_long_id: modern(({ id }) => answer(id, { resultType: 'task', taskId: 'x'.repeat(3_000), status: 'working' })),
  task_unknown: modern(({ id }) => answer(id, { resultType: 'task', taskId: 'gone', status: 'working' }), {
    'tasks/get': ({ id }) => refuse(id, -32602, 'no such task'),
  }),
  old_task: {
    ...listing([tool('echo', { execution: { taskSupport: 'required' } })]),
    ...calling(({ id, params }) =>
      params.task === undefined
        ? refuse(id, -32601, 'only as a task')
        : answer(id, {
            task: { taskId: 'old-1', status: 'working', ttl: null, createdAt: 'now', lastUpdatedAt: 'now' },
          }),
    ),
    'tasks/get': ({ id }) => answer(id, { taskId: 'old-1', status: 'completed', ttl: null, pollInterval: 1 }),
    'tasks/result': ({ id, params }) => answer(id, text(`${params.taskId} is done`)),
  },
  elicits: calling(({ id }) => {
    write({ jsonrpc: '2.0', id: 'e1', method: 'elicitation/create', params: form('city') });
    waiting.set('e1', ({ result, error }) => answer(id, text(JSON.stringify(result ?? error.code))));
  }),
  plain: {},
  variables: calling(({ id }) => answer(id, text(JSON.stringify(process.env)))),
  secret: calling(({ id }) => answer(id, text(`the token is ${process.env.API_TOKEN}`))),
  secret_file: calling(({ id }) => {
    const blob = Buffer.from(`\0 the token is ${process.env.API_TOKEN}`).toString('base64');
    answer(id, { content: [{ type: 'resource', resource: { uri: 'file:///a', blob } }] });
  }),
  secret_question: calling(({ id }) => {
    const params = { ...form('city'), message: `Is ${process.env.API_TOKEN} yours?` };
    write({ jsonrpc: '2.0', id: 'e1', method: 'elicitation/create', params });
    waiting.set('e1', ({ result, error }) => answer(id, text(JSON.stringify(result ?? error.code))));
  }),
  files: calling(async ({ id, params }) => {
    const { readFile, writeFile } = await import('node:fs/promises');
    const { path, write: content } = params.arguments;
    const doing = content === undefined ? readFile(path, 'utf8') : writeFile(path, content).then(() => 'written');
    answer(id, text(await doing.catch((error) => `refused: ${error.code}`)));
  }),
  counts: calling(({ id }) => answer(id, text(`call ${++calls}`))),
  // What a listing may hold.
  many: listing(Array.from({ length: number }, (_, at) => tool(`t${at}`))),
  pages: {
    'tools/list': ({ id, params }) => {
      const at = params?.cursor === undefined ? 0 : Number(params.cursor.length);
      // The second page has the empty cursor.
      const next = at === 0 && params?.cursor === undefined ? '' : 'x'.repeat(at + 1);
      answer(id, { tools: [tool(`page${pages++}`)], ...(pages < number ? { nextCursor: next } : {}) });
    },
  },
  endless_cursors: { 'tools/list': ({ id }) => answer(id, { tools: [tool(`t${pages++}`)], nextCursor: `c${pages}` }) },
  same_cursor: { 'tools/list': ({ id }) => answer(id, { tools: [tool(`t${pages++}`)], nextCursor: 'again' }) },
  empty_cursor: { 'tools/list': ({ id }) => answer(id, { tools: [tool(`t${pages++}`)], nextCursor: '' }) },
  number_cursor: { 'tools/list': ({ id }) => answer(id, { tools: [tool('a')], nextCursor: 7 }) },
  long_cursor: { 'tools/list': ({ id }) => answer(id, { tools: [tool('a')], nextCursor: 'x'.repeat(100_000) }) },
  tools: listing(option === '' || trick !== 'tools' ? [] : JSON.parse(option)),
  tools_no_list: { 'tools/list': ({ id }) => answer(id, { tools: 'none' }) },
  tools_missing: { 'tools/list': ({ id }) => answer(id, {}) },
  list_refused: { 'tools/list': ({ id }) => refuse(id, -32603, 'no tools today') },
  list_silence: { 'tools/list': () => undefined },
  big_tools: listing(Array.from({ length: 100 }, (_, at) => tool(`t${at}`, { description: 'x'.repeat(60_000) }))),
  huge_page: listing(Array.from({ length: 60 }, (_, at) => tool(`t${at}`, { description: 'x'.repeat(150_000) }))),
  deep_schema: listing([tool('deep', { inputSchema: deep(60) }), tool('good')]),
  wide_schema: listing([
    tool('wide', { inputSchema: { type: 'object', enum: Array.from({ length: 5_000 }, (_, at) => at) } }),
    tool('good'),
  ]),
  long_schema: listing([
    tool('long', { inputSchema: { type: 'object', description: 'x'.repeat(70_000) } }),
    tool('good'),
  ]),
  long_definition: listing([tool('long', { description: 'x'.repeat(140_000) }), tool('good')]),
  changes: {
    'tools/list': ({ id }) => {
      lists += 1;
      answer(id, { tools: lists === 1 ? [tool('before')] : [tool('before'), tool('after')] });
      if (lists === 1) notify('notifications/tools/list_changed');
    },
  },
  change_flood: {
    'tools/list': ({ id }) => {
      lists += 1;
      answer(id, { tools: [tool(`v${lists}`)] });
      for (let at = 0; at < 1_000; at += 1) notify('notifications/tools/list_changed');
    },
  },
  // What an answer to a call may be.
  structured: {
    ...listing([
      tool('s', { outputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } }),
    ]),
    ...calling(({ id }) => answer(id, { content: [], structuredContent: option === '' ? {} : JSON.parse(option) })),
  },
  slow_pattern: {
    ...listing([
      tool('s', { outputSchema: { type: 'object', properties: { v: { type: 'string', pattern: '^(a+)+$' } } } }),
    ]),
    ...calling(({ id }) => answer(id, { content: [], structuredContent: { v: `${'a'.repeat(40)}!` } })),
  },
  result: calling(({ id }) => answer(id, option === '' ? {} : JSON.parse(option))),
  error: calling(({ id }) => answer(id, { ...text('it is broken'), isError: true })),
  refuses: calling(({ id }) => refuse(id, -32602, 'no such thing')),
  silence: calling(() => undefined),
  huge_result: calling(({ id }) => {
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`);
    const part = 'x'.repeat(65_536);
    // One gigabyte, or until the reader ends it.
    const more = (left) => left > 0 && process.stdout.write(part, () => more(left - 1));
    more(16_384);
  }),
  large_result: calling(({ id }) => answer(id, text('y'.repeat(number)))),
  many_blocks: calling(({ id }) =>
    answer(id, { content: Array.from({ length: number }, () => ({ type: 'text', text: 'b' })) }),
  ),
  dies: calling(() => process.exit(3)),
  other_id: calling(({ id }) => answer(id + 1_000, text('for someone else'))),
  text_id: calling(({ id }) => answer(`x${id}`, text('for someone else'))),
  null_id: calling(() => answer(null, text('for someone else'))),
  twice: calling(({ id }) => {
    answer(id, text('first'));
    answer(id, text('second'));
  }),
  junk: calling(({ id }) => {
    process.stdout.write('not json\n{"half":\n[]\n"text"\n7\nnull\n');
    answer(id, text('after the junk'));
  }),
  junk_flood: calling(() => {
    for (let at = 0; at < 1_000; at += 1) process.stdout.write('junk\n');
  }),
  batch: calling(({ id }) => process.stdout.write(`[${JSON.stringify({ jsonrpc: '2.0', id, result: text('a') })}]\n`)),
  both: calling(({ id }) => write({ jsonrpc: '2.0', id, result: text('a'), error: { code: 1, message: 'b' } })),
  proto: calling(({ id }) =>
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"ok"}],"__proto__":{"polluted":true}}}\n`,
    ),
  ),
  proto_structured: calling(({ id }) =>
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"__proto__":{"polluted":true}}}}\n`,
    ),
  ),
  raw_meta: calling(({ id }) =>
    answer(id, { ...text('plain'), _meta: { 'refold/raw': { resultType: 'task', taskId: 'x' } } }),
  ),
  progress_flood: calling(({ id, params }) => {
    const token = params?._meta?.progressToken ?? 1;
    for (let at = 0; at < 20_000; at += 1) notify('notifications/progress', { progressToken: token, progress: at });
    answer(id, text('done'));
  }),
  unknown_notes: calling(({ id }) => {
    for (let at = 0; at < 1_000; at += 1) notify('notifications/none', { at });
    answer(id, text('done'));
  }),
  stderr_flood: calling(({ id }) => {
    const part = 'e'.repeat(65_536);
    for (let at = 0; at < 512; at += 1) process.stderr.write(part);
    answer(id, text('done'));
  }),
  samples: calling(({ id }) => {
    write({ jsonrpc: '2.0', id: 's1', method: 'sampling/createMessage', params: { messages: [], maxTokens: 9 } });
    waiting.set('s1', (reply) => answer(id, text(`sampling: ${reply.error?.code}`)));
  }),
  roots: calling(({ id }) => {
    write({ jsonrpc: '2.0', id: 'r1', method: 'roots/list' });
    waiting.set('r1', (reply) => answer(id, text(`roots: ${reply.error?.code}`)));
  }),
  cancels: {
    ...calling(({ id }) => waiting.set(`cancel ${id}`, () => undefined)),
    'notifications/cancelled': ({ params }) => process.stderr.write(`cancelled ${params.requestId}\n`),
  },
  // How a server may start.
  start_silence: { initialize: () => undefined, 'server/discover': () => undefined },
  start_exit: { initialize: () => process.exit(4), 'server/discover': () => process.exit(4) },
  exits_at_probe: { 'server/discover': () => process.exit(5) },
  start_refused: { initialize: ({ id }) => refuse(id, -32000, 'not today') },
  old_version: {
    initialize: ({ id }) =>
      answer(id, { protocolVersion: '1999-01-01', capabilities: {}, serverInfo: { name: 'o', version: '1' } }),
  },
  bad_initialize: { initialize: ({ id }) => answer(id, { hello: 'there' }) },
  endless_line: {
    initialize: () => {
      const part = 'z'.repeat(65_536);
      const more = (left) => left > 0 && process.stdout.write(part, () => more(left - 1));
      more(16_384);
    },
  },
};

const waiting = new Map();
const serving = { ...plain, ...TRICKS[trick] };
if (TRICKS[trick] === undefined) throw new Error(`no trick ${trick}`);
if (trick === 'stdout_noise') process.stdout.write('starting up\n');

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.method === undefined) waiting.get(message.id)?.(message);
  else if (serving[message.method] !== undefined) void serving[message.method](message);
  else if (message.id !== undefined) refuse(message.id, -32601, 'Method not found');
});
process.stdin.on('end', () => process.exit(0));
