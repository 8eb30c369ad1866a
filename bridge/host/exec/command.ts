/** One command to run for a tool call. */
export interface Command {
  readonly argv: readonly string[];
  /** Where it runs: absolute, in the workspace. */
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
}
