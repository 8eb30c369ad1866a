// A generate as the body of a Messages request.
import type { GenerateRequest } from '../provider.ts';
import type { ExactJson, ExactObject } from '../api/exact-json.ts';
import { isBlankText } from './blocks.ts';
import { type ModelTraits, traitsOf } from './claude-version.ts';
import { type Turn, calledTools, mayContinueThinking, openContainer, turnsOf, wireMessages } from './conversation.ts';
import { type ThinkingPlan, planThinking } from './thinking.ts';
import { messagesTool } from './tool-schema.ts';

/** The body without `model` and `stream`. Throws a {@link ProviderError} when a tool cannot be sent. */
export function messagesBody(request: GenerateRequest, model: string): ExactObject {
  const { instructions, temperature, messages } = request;
  const traits = traitsOf(model);
  const turns = turnsOf(messages, model);
  const tools = toolsOf(request, turns);
  const plan = planThinking(
    {
      reasoning: request.reasoning ?? null,
      output_tokens_max: request.output_tokens_max,
      forced: request.tools.length > 0 && isForced(request),
      mayContinue: mayContinueThinking(turns),
    },
    traits,
  );
  const container = openContainer(turns);
  return {
    max_tokens: plan.max_tokens,
    ...(instructions === null || isBlankText(instructions) ? {} : { system: instructions }),
    messages: wireMessages(turns, plan.off),
    ...tools,
    ...(plan.thinking === null ? {} : { thinking: plan.thinking }),
    ...(plan.effort === null ? {} : { output_config: { effort: plan.effort } }),
    ...temperatureOf(temperature ?? null, traits, isOn(plan)),
    ...(container === null ? {} : { container }),
  };
}

const isOn = ({ thinking, off }: ThinkingPlan): boolean => thinking !== null && !off;

/** `temperature` goes up to 1 here, and does not go together with thinking. */
const temperatureOf = (temperature: number | null, traits: ModelTraits, thinks: boolean): ExactObject =>
  temperature === null || thinks || !traits.temperature ? {} : { temperature: Math.min(temperature, 1) };

const isForced = ({ tool_choice }: GenerateRequest): boolean =>
  tool_choice === 'required' || (typeof tool_choice === 'object' && tool_choice !== null);

function toolsOf(request: GenerateRequest, turns: readonly Turn[]): ExactObject {
  const { tools } = request;
  if (tools.length > 0) {
    const choice = choiceOf(request);
    return {
      tools: tools.map((tool) => messagesTool(tool) as ExactJson),
      ...(choice === null ? {} : { tool_choice: choice }),
    };
  }
  // The API wants tools to be defined where a conversation has calls. With `none` the model makes no further ones.
  const called = calledTools(turns);
  if (called.length === 0) return {};
  const gone = called.map((name) => ({ name, description: GONE, input_schema: { type: 'object' } }));
  return { tools: gone, tool_choice: { type: 'none' } };
}

const GONE = 'This tool is no longer available.';

function choiceOf({ tool_choice, parallel_calls }: GenerateRequest): ExactObject | null {
  if (tool_choice === 'none') return { type: 'none' };
  const one = parallel_calls === false ? { disable_parallel_tool_use: true } : {};
  if (tool_choice === 'required') return { type: 'any', ...one };
  if (typeof tool_choice === 'object' && tool_choice !== null) return { type: 'tool', name: tool_choice.tool, ...one };
  return tool_choice === 'auto' || parallel_calls === false ? { type: 'auto', ...one } : null;
}
