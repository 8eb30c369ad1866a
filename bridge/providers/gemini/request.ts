// Writes a GenerateContentRequest (ai.google.dev, "generateContent").
import type { OfferedTool } from '../../../schemas/effect.ts';
import type { Reasoning } from '../../../schemas/run.ts';
import { type ExactJson, type ExactObject, RawJson, exactText } from '../api/exact-json.ts';
import type { RequestTarget, WireRequest } from '../api/dialect.ts';
import type { GenerateRequest } from '../provider.ts';
import { contentsOf } from './contents.ts';
import { functionName, hasBudget, isThirdGeneration, modelPath } from './names.ts';
import { functionParameters } from './tool-schema.ts';

export function encodeRequest(request: GenerateRequest, { model, stream }: RequestTarget): WireRequest {
  const { instructions, tools, messages } = request;
  const body: ExactObject = {
    ...(instructions === null || instructions === '' ? {} : { systemInstruction: { parts: [{ text: instructions }] } }),
    contents: contentsOf(messages, model),
    ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools.map(declarationOf) }] }),
    ...toolConfigOf(request),
    ...generationConfigOf(request, model),
  };
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return { path: `${modelPath(model)}:${method}`, headers: {}, body: exactText(body) };
}

// Every generate offers the same tools, and their schemas are frozen: each is translated once.
const declarations = new WeakMap<OfferedTool, ExactJson>();

function declarationOf(tool: OfferedTool): ExactJson {
  const known = declarations.get(tool);
  if (known !== undefined) return known;
  const parameters = functionParameters(tool);
  const declaration = new RawJson(
    exactText({
      name: functionName(tool.tool_name),
      description: tool.description,
      ...(parameters === null ? {} : { parametersJsonSchema: parameters }),
    }),
  );
  if (Object.isFrozen(tool)) declarations.set(tool, declaration);
  return declaration;
}

/** The API has no switch for parallel calls: `parallel_calls` is left out. */
function toolConfigOf({ tool_choice, tools }: GenerateRequest): ExactObject {
  if (tool_choice === undefined || tool_choice === null || tools.length === 0) return {};
  const functionCallingConfig: ExactObject =
    typeof tool_choice === 'string'
      ? { mode: MODES[tool_choice] }
      : { mode: 'ANY', allowedFunctionNames: [functionName(tool_choice.tool)] };
  return { toolConfig: { functionCallingConfig } };
}

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const;

function generationConfigOf(
  { temperature, output_tokens_max, reasoning }: GenerateRequest,
  model: string,
): ExactObject {
  const thinkingConfig = reasoning === undefined || reasoning === null ? null : thinkingOf(reasoning, model);
  const config: ExactObject = {
    ...(temperature === undefined || temperature === null ? {} : { temperature }),
    ...(output_tokens_max === null ? {} : { maxOutputTokens: output_tokens_max }),
    ...(thinkingConfig === null ? {} : { thinkingConfig }),
  };
  return Object.keys(config).length === 0 ? {} : { generationConfig: config };
}

type Effort = NonNullable<Reasoning['effort']>;

/** The API takes a level or a budget, never both; models before 2.5 do not think, and refuse either. */
function thinkingOf({ effort, tokens_max }: Reasoning, model: string): ExactObject | null {
  const pro = /-pro\b/.test(model);
  const includeThoughts = effort !== 'none' && tokens_max !== 0;
  if (isThirdGeneration(model)) {
    if (effort !== undefined) return { includeThoughts, thinkingLevel: (pro ? PRO_LEVELS : LEVELS)[effort] };
    return { includeThoughts, ...(tokens_max === undefined ? {} : { thinkingBudget: tokens_max }) };
  }
  if (!hasBudget(model)) return null;
  const budget = tokens_max ?? (effort === undefined ? undefined : BUDGETS[effort]);
  if (budget === undefined) return { includeThoughts };
  return { includeThoughts, thinkingBudget: pro ? Math.max(budget, PRO_BUDGET_MIN) : budget };
}

const LEVELS: { readonly [effort in Effort]: string } = {
  none: 'minimal',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  max: 'high',
};
// Pro models always think.
const PRO_LEVELS = { ...LEVELS, none: 'low', minimal: 'low' } as const;
const PRO_BUDGET_MIN = 128;
const BUDGETS: { readonly [effort in Effort]: number } = {
  none: 0,
  minimal: 512,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  max: 24_576,
};
