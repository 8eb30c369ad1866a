// What every row runs: a model that answers at once, with two calls in each turn but the last, and tools that return at once.
export const TURNS = 10;
export const PROMPT = 'Refund the orders';
export const TOOLS = ['one', 'two'];
const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };

/** From one ask of the model to the next: a turn of two calls, with whatever is done in between. */
export function newGaps(barriers) {
  const gaps = [];
  let last = null;
  return {
    gaps,
    asked(turn) {
      const { user, system } = process.cpuUsage();
      const now = { ms: performance.now(), cpuMs: (user + system) / 1_000, barriers: barriers() };
      if (turn > 1) {
        gaps.push({ ms: now.ms - last.ms, cpuMs: now.cpuMs - last.cpuMs, barriers: now.barriers - last.barriers });
      }
      last = now;
    },
  };
}

export const result = ({ order }) => ({ order, status: 'delivered', text: 'x'.repeat(300) });

/** A language model of the AI SDK. */
export const scriptedModel = (asked) => ({
  specificationVersion: 'v3',
  provider: 'scripted',
  modelId: 'scripted-1',
  supportedUrls: {},
  doGenerate({ prompt }) {
    const turn = prompt.filter(({ role }) => role === 'assistant').length + 1;
    asked(turn);
    const isLast = turn === TURNS;
    const content = isLast ? [{ type: 'text', text: 'Done.' }] : TOOLS.map((name) => callOf(name, turn));
    const finishReason = { unified: isLast ? 'stop' : 'tool-calls', raw: undefined };
    return Promise.resolve({ content, finishReason, usage, warnings: [] });
  },
});

const callOf = (toolName, turn) => ({
  type: 'tool-call',
  toolCallId: `${toolName}-${turn}`,
  toolName,
  input: JSON.stringify({ order: `${toolName}-${turn}` }),
});
