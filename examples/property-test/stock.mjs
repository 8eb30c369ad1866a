// Tools that are a reducer: each call takes a stock and gives the next one, with what the model reads.
import { defineTool } from 'refold/schemas';

const input_schema = {
  type: 'object',
  properties: { article: { type: 'string' }, count: { type: 'integer', minimum: 1 } },
  required: ['article', 'count'],
};

/** Two calls on one article conflict, calls on different articles may run together. */
const claims = [{ space: 'stock', argument: 'article', form: 'text', access: 'write' }];

const define = (verb, description, parallelism_hint) =>
  defineTool({ tool_id: `stock.${verb}`, tool_name: `${verb}_stock`, description, input_schema, parallelism_hint });

export const toolsWith = (parallelism_hint) => [
  define('add', 'Add pieces of an article to the stock.', parallelism_hint),
  define('take', 'Take pieces of an article from the stock, all or none.', parallelism_hint),
];

export const tools = toolsWith({ parallel_safe: true, claims });

/** The reducer. It never throws, and never changes the stock it is given. */
export function reduce(stock, tool_name, { article, count }) {
  const held = stock[article] ?? 0;
  const next = tool_name === 'add_stock' ? held + count : held - count;
  if (next < 0) return { stock, success: false, text: `only ${held} of ${article}` };
  return { stock: { ...stock, [article]: next }, success: true, text: `${next} of ${article}` };
}
