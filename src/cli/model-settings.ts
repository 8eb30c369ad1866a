// The options of `refold run` that say how the model is to answer.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { RunConfigPatch } from '../../schemas/run.ts';
import type { Options } from './command.ts';
import { CommandFailure } from './output.ts';

/** The fields of the config that the options give. Ends the command when one of them is not valid. */
export function modelSettings(options: Options): RunConfigPatch {
  const { toolChoice, parallelCalls, reasoning, temperature, contextMark } = options;
  const settings = {
    ...(toolChoice === undefined ? {} : { tool_choice: toolChoiceOf(String(toolChoice)) }),
    ...(parallelCalls === false ? { parallel_calls: false } : {}),
    ...(reasoning === undefined ? {} : { reasoning: { effort: reasoning } }),
    ...(temperature === undefined ? {} : { temperature: numberOf(temperature) }),
    ...(contextMark === undefined ? {} : { context: { mark: numberOf(contextMark) } }),
  };
  const decoded = decode(RunConfigPatch, settings);
  if (isLeft(decoded)) {
    const { path, message } = decoded.left;
    throw new CommandFailure('invalid_shape', `${optionOf(path)}: ${message}`);
  }
  return decoded.right;
}

const CHOICES: ReadonlySet<string> = new Set(['auto', 'none', 'required']);

const toolChoiceOf = (choice: string) => (CHOICES.has(choice) ? choice : { tool: choice });

// Text that is no number stays text, and is refused.
const numberOf = (value: unknown): unknown => (/^\d+(\.\d+)?$/.test(String(value)) ? Number(value) : value);

const OPTIONS: Readonly<Record<string, string>> = {
  tool_choice: '--tool-choice',
  reasoning: '--reasoning',
  temperature: '--temperature',
  context: '--context-mark',
};

const optionOf = (path: string): string => OPTIONS[path.split('/')[1] ?? ''] ?? 'the options';
