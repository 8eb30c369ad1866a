/** A command to run for a tool call. */
export interface Command {
  readonly argv: readonly string[];
  /** Its working directory: an absolute path in the workspace. */
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
}
