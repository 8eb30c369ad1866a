// Recorded tool schemas: the engine's edge compiles or refuses each, and each API gets it in a form of its own, or refuses it
// with the tool and the path.
import { ProviderError } from '../../bridge/providers/provider.ts';
import type { Dialect } from '../../bridge/providers/api/dialect.ts';
import type { OfferedTool } from '../../schemas/effect.ts';
import { brand } from '../../schemas/ids.ts';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { schemaFault } from '../../src/engine/edge/schema-check.ts';
import { requestWith } from '../support/providers/any-chat.ts';
import { filesBelow, linesOf, readText } from './corpus-files.ts';
import { DIALECTS, MODELS } from './requests.ts';
import type { Section, Tally } from './tally.ts';

export const schemas: Section = {
  name: 'tool-schemas',
  check(corpora, tally, progress) {
    let found = 0;
    for (const { place, text } of linesOf(corpora, 'unified/tool-schemas.jsonl')) {
      found += 1;
      progress(place);
      const { name, parameters } = JSON.parse(text) as { readonly name: string; readonly parameters: Json };
      checkSchema(place, { name, schema: parameters }, tally);
    }
    for (const path of filesBelow(corpora, 'tool-schemas').filter((each) => /\.(?:snap|json)$/.test(each))) {
      found += 1;
      progress(path);
      const { name, inputSchema } = JSON.parse(readText(corpora, path)) as {
        readonly name: string;
        readonly inputSchema: Json;
      };
      checkSchema(path, { name, schema: inputSchema }, tally);
    }
    return Promise.resolve(found > 0);
  },
};

function checkSchema(place: string, { name, schema }: { name: string; schema: Json }, tally: Tally): void {
  tally.count('schemas');
  if (!isPlainObject(schema)) return tally.count('schemas: not an object');
  const fault = schemaFault(schema as JsonObject);
  tally.count(fault === null ? 'schemas: compiled' : 'schemas: refused at the edge');
  if (fault !== null) return tally.note(`${place}: the edge refuses ${name}: ${fault}`);
  for (const dialect of DIALECTS) checkEncoding(place, dialect, offeredTool(name, schema as JsonObject), tally);
}

const offeredTool = (name: string, input_schema: JsonObject): OfferedTool => ({
  tool_id: brand<'ToolId'>('tool'),
  tool_ref: brand<'Digest'>(`sha256:${'0'.repeat(64)}`),
  tool_name: brand<'ToolName'>(name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed'),
  description: 'A tool.',
  input_schema,
});

function checkEncoding(place: string, dialect: Dialect, tool: OfferedTool, tally: Tally): void {
  const [model] = MODELS[dialect.api];
  const request = { ...requestWith([{ role: 'user', text: 'x' }], model), tools: [tool] };
  try {
    const { body } = dialect.encode(request, { model, baseUrl: 'https://models.test/v1', stream: true });
    tally.count('translated');
    tally.count(`translated: ${dialect.api}`);
    if (!body.includes(`"${tool.tool_name}"`)) tally.fail(place, `${dialect.api}: the request does not name the tool`);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    tally.count('refused');
    tally.count(`refused: ${dialect.api}`);
    tally.note(`${place}: ${dialect.api}: ${error.message}`);
    const says =
      error.code === 'invalid_request' && error.message.includes(tool.tool_name) && error.message.includes('/');
    if (!says) tally.fail(place, `${dialect.api}: the refusal does not name the tool and the path: ${error.message}`);
  }
}
