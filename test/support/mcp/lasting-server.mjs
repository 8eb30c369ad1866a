// An MCP server of 2026-07-28 whose state is on disk, so that it may be killed at any moment: `node lasting-server.mjs DIRECTORY`.
// Every tool writes what it does to `world.txt`, a line with its name and the key of the call, before it answers.
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , directory] = process.argv;
const TASK_MS = 150;

const write = (message) => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const mark = (what, key) => appendFileSync(`${directory}/world.txt`, `${what} ${key}\n`);
const complete = (more) => ({ resultType: 'complete', ...more });
const text = (said) => complete({ content: [{ type: 'text', text: said }] });

const KEY = { type: 'string' };
const SIZE = { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] };
const question = (key) => ({
  method: 'elicitation/create',
  params: { message: `Which size for ${key}?`, requestedSchema: SIZE },
});

/** Asks in the first round; the second must bring the state of the first, and what a person said. */
function asks(key, { inputResponses, requestState }, { asked, answered }) {
  if (inputResponses === undefined) {
    mark(asked, key);
    return { resultType: 'input_required', inputRequests: { size: question(key) }, requestState: `state of ${key}` };
  }
  const { action, content } = inputResponses.size;
  const state = requestState === `state of ${key}` ? '' : ' without its state';
  mark(answered, key);
  return text(`${action} ${content?.size}${state}`);
}

const fileOf = (key) => `${directory}/task-${key}.json`;

function saveTask(key, task) {
  writeFileSync(`${fileOf(key)}.new`, JSON.stringify(task));
  renameSync(`${fileOf(key)}.new`, fileOf(key));
}

/** A task that is done after a while, whoever waits for it; `size`: what it needs to be told first. */
function begins(what, key, size) {
  mark(what, key);
  saveTask(key, { doneAt: Date.now() + TASK_MS, ...size });
  return { resultType: 'task', taskId: key, status: 'working', pollIntervalMs: 100 };
}

function taskOf(taskId) {
  const { doneAt, size } = JSON.parse(readFileSync(fileOf(taskId), 'utf8'));
  const known = { taskId, pollIntervalMs: 100 };
  if (size === null) return complete({ ...known, status: 'input_required', inputRequests: { size: question(taskId) } });
  if (Date.now() < doneAt) return complete({ ...known, status: 'working' });
  return complete({ ...known, status: 'completed', result: text(`${taskId} is done ${size ?? ''}`) });
}

const TOOLS = {
  look: { hints: { readOnlyHint: true }, call: ({ key }) => (mark('look', key), text(`saw ${key}`)) },
  append: { hints: {}, call: ({ key }) => (mark('append', key), text(`appended ${key}`)) },
  ask: { hints: {}, call: ({ key }, said) => asks(key, said, { asked: 'ask', answered: 'answered' }) },
  ask_again: {
    hints: { idempotentHint: true },
    call: ({ key }, said) => asks(key, said, { asked: 'ask_again', answered: 'answered_again' }),
  },
  work: { hints: {}, call: ({ key }) => begins('work', key, {}) },
  order: { hints: {}, call: ({ key }) => begins('order', key, { size: null }) },
};

const METHODS = {
  'server/discover': () =>
    complete({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
      ttlMs: 0,
      cacheScope: 'private',
    }),
  'tools/list': () =>
    complete({
      tools: Object.entries(TOOLS).map(([name, { hints }]) => ({
        name,
        inputSchema: { type: 'object', properties: { key: KEY }, required: ['key'] },
        annotations: { destructiveHint: false, ...hints },
      })),
      ttlMs: 3_600_000,
      cacheScope: 'private',
    }),
  'tools/call': ({ name, arguments: args, ...said }) => TOOLS[name].call(args, said),
  'tasks/get': ({ taskId }) => taskOf(taskId),
  'tasks/update': ({ taskId, inputResponses }) => {
    const { action, content } = inputResponses.size;
    mark('told', taskId);
    saveTask(taskId, { ...JSON.parse(readFileSync(fileOf(taskId), 'utf8')), size: `${action} ${content?.size}` });
    return complete({});
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  const known = method !== 'tasks/get' || existsSync(fileOf(params.taskId));
  if (METHODS[method] === undefined || !known) write({ id, error: { code: -32601, message: `no ${method}` } });
  else write({ id, result: METHODS[method](params) });
});
process.stdin.on('end', () => process.exit(0));
