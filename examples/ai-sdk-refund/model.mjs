// A model that follows a script, so that the example needs no key: it finds both orders, refunds both, and says what it was told.
import { appendFileSync } from 'node:fs';

const calls = (toolName) =>
  ['41', '42'].map((order) => {
    const input = JSON.stringify({ order });
    return { type: 'tool-call', toolCallId: `${toolName}-${order}`, toolName, input };
  });

const told = (prompt) =>
  prompt
    .at(-1)
    .content.map(({ toolCallId, output }) => `${toolCallId}: ${output.value}`)
    .join('\n');

/** Notes in the directory how often it was asked. */
export const model = (directory) => ({
  specificationVersion: 'v3',
  provider: 'scripted',
  modelId: 'scripted-1',
  supportedUrls: {},
  doGenerate({ prompt }) {
    const turn = prompt.filter(({ role }) => role === 'assistant').length + 1;
    appendFileSync(`${directory}/asked`, `turn ${turn}\n`);
    const isLast = turn === 3;
    const content = isLast
      ? [{ type: 'text', text: `I was told:\n${told(prompt)}` }]
      : calls(turn === 1 ? 'find_order' : 'refund_order');
    const finishReason = { unified: isLast ? 'stop' : 'tool-calls', raw: undefined };
    const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };
    return Promise.resolve({ content, finishReason, usage, warnings: [] });
  },
});
