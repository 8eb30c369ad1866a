// Recorded tool schemas: the engine's edge compiles or refuses each, and each API gets it in a form of its own, or refuses it
// with the tool and the path.
import { isLeft } from 'fp-ts/lib/Either.js';
import { ProviderError } from '../../bridge/providers/provider.ts';
import type { Dialect } from '../../bridge/providers/api/dialect.ts';
import type { OfferedTool } from '../../schemas/effect.ts';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import type { ModelApi } from '../../schemas/model-turn.ts';
import { normalisedTypes } from '../../src/core/json-schema-types.ts';
import { schemaFault } from '../../src/engine/edge/schema-check.ts';
import { admitTools } from '../../src/engine/edge/tool-definitions.ts';
import { requestWith } from '../support/providers/any-chat.ts';
import { tool } from '../support/tools.ts';
import { filesBelow, linesOf, readText } from './corpus-files.ts';
import { DIALECTS, MODELS } from './requests.ts';
import type { Section, Tally } from './tally.ts';

export const schemas: Section = {
  name: 'tool-schemas',
  async check(corpora, tally, progress) {
    let found = 0;
    for (const { place, text } of linesOf(corpora, 'unified/tool-schemas.jsonl')) {
      found += 1;
      progress(place);
      const { name, parameters } = JSON.parse(text) as { readonly name: string; readonly parameters: Json };
      await checkSchema(place, { name, schema: parameters }, tally);
    }
    for (const path of filesBelow(corpora, 'tool-schemas').filter((each) => /\.(?:snap|json)$/.test(each))) {
      found += 1;
      progress(path);
      const { name, inputSchema } = JSON.parse(readText(corpora, path)) as {
        readonly name: string;
        readonly inputSchema: Json;
      };
      await checkSchema(path, { name, schema: inputSchema }, tally);
    }
    return found > 0;
  },
};

async function checkSchema(
  place: string,
  { name, schema }: { readonly name: string; readonly schema: Json },
  tally: Tally,
): Promise<void> {
  tally.count('schemas');
  if (!isPlainObject(schema)) return tally.count('schemas: no object');
  const given = tool(name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed', {
    description: 'A tool.',
    input_schema: schema,
  });
  const admitted = await admitTools([given], () => null);
  if (isLeft(admitted)) {
    tally.count('schemas: refused at the edge');
    const { path, message } = admitted.left;
    if (!path.startsWith('/registry/0/')) tally.fail(place, `the refusal has the path ${path}`);
    return tally.note(`${place}: ${message}`);
  }
  const [spec = given] = admitted.right;
  tally.count(spec === given ? 'schemas: compiled' : 'schemas: compiled with translated types');
  for (const dialect of DIALECTS) checkEncoding(place, dialect, spec, tally);
}

function checkEncoding(place: string, dialect: Dialect, offered: OfferedTool, tally: Tally): void {
  const [model] = MODELS[dialect.api];
  const request = { ...requestWith([{ role: 'user', text: 'x' }], model), tools: [offered] };
  try {
    const { body } = dialect.encode(request, { model, baseUrl: 'https://models.test/v1', stream: true });
    tally.count('translated');
    tally.count(`translated: ${dialect.api}`);
    const sent = SENT[dialect.api](JSON.parse(body));
    if (sent.name !== offered.tool_name) tally.fail(place, `${dialect.api}: the request names the tool ${sent.name}`);
    const fault = sent.schema === undefined ? null : faultOf(sent.schema);
    if (fault !== null) tally.fail(place, `${dialect.api}: what is sent does not compile: ${fault}`);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    tally.count('refused');
    tally.count(`refused: ${dialect.api}`);
    tally.note(`${place}: ${dialect.api}: ${error.message}`);
    const says =
      error.code === 'invalid_request' && error.message.includes(offered.tool_name) && error.message.includes('/');
    if (!says) tally.fail(place, `${dialect.api}: the refusal does not name the tool and the path: ${error.message}`);
  }
}

/** Most APIs are sent the same schema, which takes some milliseconds to compile. */
function faultOf(schema: JsonObject): string | null {
  const text = JSON.stringify(schema);
  if (last.text !== text) last = { text, fault: schemaFault(normalisedTypes(schema)) };
  return last.fault;
}

let last: { readonly text: string; readonly fault: string | null } = { text: '', fault: null };

// Bodies are read as they are: a wrong form shows as a TypeError.
type Any = any; // oxlint-disable-line typescript/no-explicit-any

/** The tool in a request. Gemini leaves the schema of a tool without parameters out. */
const SENT: { readonly [api in ModelApi]: (body: Any) => { readonly name: string; readonly schema?: JsonObject } } = {
  'openai.chat': ({ tools: [{ function: offered }] }) => ({ name: offered.name, schema: offered.parameters }),
  'openai.responses': ({ tools: [offered] }) => ({ name: offered.name, schema: offered.parameters }),
  'anthropic.messages': ({ tools: [offered] }) => ({ name: offered.name, schema: offered.input_schema }),
  'gemini.generate_content': ({
    tools: [
      {
        functionDeclarations: [offered],
      },
    ],
  }) => ({
    name: offered.name,
    schema: offered.parametersJsonSchema ?? offered.parameters,
  }),
  'bedrock.converse': ({
    toolConfig: {
      tools: [{ toolSpec }],
    },
  }) => ({
    name: toolSpec.name,
    schema: toolSpec.inputSchema.json,
  }),
};
