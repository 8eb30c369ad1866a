// The command of one tool call, before it is placed in a sandbox.
export interface Command {
  readonly argv: readonly string[];
  /** Its working directory: an absolute path in the workspace. */
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
}
