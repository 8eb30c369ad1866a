// What Gemini's API demands of names: of functions, and of models in a path.
import { ProviderError } from '../provider.ts';

/**
 * The name of a function as the API takes it: it begins with a letter or an underscore, holds letters, digits, `_`, `.`, `:`
 * and `-`, and has at most 64 characters. A leading digit or hyphen, which a tool may have, gets an underscore, and
 * {@link toolNameOf} takes it away. A name that the model made up is made to fit.
 */
export function functionName(name: string): string {
  const fitting = name.replace(/[^A-Za-z0-9_.:-]/g, '_');
  const named = fitting === '' ? 'unnamed' : fitting;
  return (/^_*[0-9.:-]/.test(named) ? `_${named}` : named).slice(0, 64);
}

/** The tool that a function's name means. */
export const toolNameOf = (name: string): string => (/^_+[0-9.:-]/.test(name) ? name.slice(1) : name);

const RESOURCE = /^(models|tunedModels|publishers|projects|endpoints)\//;
const MODEL = /^[A-Za-z0-9_][A-Za-z0-9_.@:-]*(\/[A-Za-z0-9_][A-Za-z0-9_.@:-]*)*$/;

/** The path of a model's resource, such as `/models/gemini-2.5-flash`. Full resource names stay as they are. */
export function modelPath(model: string): string {
  if (!MODEL.test(model)) {
    throw new ProviderError(
      'invalid_request',
      `${JSON.stringify(model)} is no name of a Gemini model; give one such as gemini-2.5-flash`,
    );
  }
  return RESOURCE.test(model) ? `/${model}` : `/models/${model}`;
}

/** The major version of a Gemini model; null when the name does not say it, as of `gemini-flash-latest`. */
function majorOf(model: string): number | null {
  const [, major] = /gemini-([0-9]+)/.exec(model) ?? [];
  return major === undefined ? null : Number(major);
}

const isGemini = (model: string): boolean => /gemini/.test(model);

/** From version 3 on, the first call of a turn must carry a signature, and thinking is asked for in levels. */
export const isThirdGeneration = (model: string): boolean => isGemini(model) && (majorOf(model) ?? 3) >= 3;

/** True when the model has a thinking budget: versions 2.5 and their like. */
export const hasBudget = (model: string): boolean => /gemini-2\.5/.test(model);
