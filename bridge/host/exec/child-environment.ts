// The environment of a command: PATH, HOME, LANG and TERM, and the variables that the call adds. Nothing comes from the
// bridge's environment. (The shell and the sandbox that start a command also set PWD, to its working directory.)
import type { JsonObject } from '../../../schemas/json.ts';
import { invalidArgument } from '../arguments.ts';
import { ENV_BYTES_MAX, ENV_MAX } from '../../../schemas/limits.ts';
import { isSecretName } from '../../../src/files/secret-variables.ts';
import { programDirectories } from './find-program.ts';

export interface ChildEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** Names of the call's variables that were left out because they look like secrets. */
  readonly dropped: readonly string[];
}

export function childEnvironment(added: JsonObject): ChildEnvironment {
  const entries = Object.entries(added);
  if (entries.length > ENV_MAX) throw invalidArgument('env', `an object of at most ${ENV_MAX} variables`);
  const variables: Record<string, string> = {
    PATH: programDirectories().join(':'),
    HOME: '/tmp',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
  };
  const dropped: string[] = [];
  let bytes = 0;
  for (const [name, value] of entries) {
    if (typeof value !== 'string' || value.includes('\0')) throw invalidArgument(`env.${name}`, 'a string without NUL');
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw invalidArgument('env', `an object without the invalid variable name ${JSON.stringify(name)}`);
    if (isLoaderName(name))
      throw invalidArgument('env', `an object without ${name}, which changes what programs load or run`);
    bytes += name.length + Buffer.byteLength(value);
    if (isSecretName(name)) dropped.push(name);
    else variables[name] = value;
  }
  if (bytes > ENV_BYTES_MAX) throw invalidArgument('env', `an object of at most ${ENV_BYTES_MAX} bytes`);
  return { variables, dropped };
}

// Variables that make other programs run code of the caller's choice, or that change how programs are loaded.
const isLoaderName = (name: string): boolean =>
  /^(LD_|DYLD_|GLIBC_|MALLOC_|BASH_FUNC_)/.test(name) || LOADER_NAMES.has(name);

const LOADER_NAMES: ReadonlySet<string> = new Set([
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_REPL_EXTERNAL_MODULE',
  'BASH_ENV',
  'ENV',
  // Shells interpret these, including the shell that starts the command (see `startGate`).
  'BASHOPTS',
  'OPTIND',
  'SHELLOPTS',
  'GCONV_PATH',
  'PERL5OPT',
  'PYTHONSTARTUP',
  'RUBYOPT',
  'JAVA_TOOL_OPTIONS',
]);
