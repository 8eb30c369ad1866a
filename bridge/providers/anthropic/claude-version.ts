// Which parameters a model takes, read from its name: the API refuses those of another generation.

/** What is known of a model by its name. */
export interface ModelTraits {
  /**
   * How thinking is asked for: `budget` (`thinking.budget_tokens`; Claude 3.7 to 4.5, and other models), `adaptive`
   * (`thinking.type: "adaptive"` and `output_config.effort`; Claude 4.6 and newer) or `none`.
   */
  readonly thinking: 'none' | 'budget' | 'adaptive';
  /** What it does when `thinking` is left out: `on` can be turned off, `always` cannot or is not known. */
  readonly unasked: 'off' | 'on' | 'always';
  /** It takes a temperature; from Claude 4.7 on, models refuse one. */
  readonly temperature: boolean;
  /** `max_tokens` of a run that names none: no more than the smallest model of the generation takes. */
  readonly outputTokens: number;
}

/** Such as `claude-sonnet-4-5-20250929`, and the older `claude-3-7-sonnet@20250219`. */
const NEW_NAME = /claude-([a-z]+)-([0-9]{1,2})(?:[-.]([0-9]{1,2}))?(?![0-9])/;
const OLD_NAME = /claude-([0-9])(?:[-.]([0-9]))?(?:-([a-z]+))?/;

export function traitsOf(model: string): ModelTraits {
  const version = versionOf(model.toLowerCase());
  if (version === null) {
    return { thinking: 'budget', unasked: 'always', temperature: true, outputTokens: 8_192 };
  }
  const { number, line } = version;
  return {
    thinking: number >= 406 ? 'adaptive' : number >= 307 ? 'budget' : 'none',
    unasked: number < 500 ? 'off' : ['opus', 'sonnet', 'haiku'].includes(line) ? 'on' : 'always',
    temperature: number < 407,
    outputTokens: number >= 307 ? 32_000 : number >= 305 ? 8_192 : 4_096,
  };
}

/** The version as one number: 405 for 4.5. */
function versionOf(model: string): { readonly number: number; readonly line: string } | null {
  const newer = NEW_NAME.exec(model);
  if (newer !== null) return { line: newer[1] ?? '', number: Number(newer[2]) * 100 + Number(newer[3] ?? 0) };
  const older = OLD_NAME.exec(model);
  return older === null ? null : { line: older[3] ?? '', number: Number(older[1]) * 100 + Number(older[2] ?? 0) };
}
