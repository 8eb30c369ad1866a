// A local MCP server for the bench: it has so many tools as its argument says, and each answers at once.
import { createInterface } from 'node:readline';

interface Request {
  readonly id?: number;
  readonly method: string;
}

const tools = Array.from({ length: Number(process.argv[2]) }, (_, at) => ({
  name: `tool_${at}`,
  description: `The tool number ${at} of the bench.`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' }, at: { type: 'integer' } } },
}));

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1' },
  },
  'tools/list': { tools },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line) as Request;
  if (id === undefined) return;
  const result = RESULTS[method];
  const answer = result === undefined ? { error: { code: -32_601, message: 'Method not found' } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
process.stdin.on('end', () => process.exit(0));
