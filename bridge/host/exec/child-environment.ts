// The environment of a command: four fixed variables and what the call adds. Nothing of the bridge's own.
// (PWD is there too: whatever sets up a command says in it where the command runs.)
import type { JsonObject } from '../../../schemas/json.ts';
import { invalidArgument } from '../arguments.ts';
import { ENV_BYTES_MAX, ENV_MAX } from '../../../schemas/limits.ts';
import { programDirectories } from './program.ts';

export interface ChildEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** Names the call gave that look like secrets and were left out. */
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
      throw invalidArgument('env', `free of the name ${JSON.stringify(name)}`);
    if (isLoaderName(name)) throw invalidArgument('env', `free of ${name}, which changes what every program loads`);
    bytes += name.length + Buffer.byteLength(value);
    if (isSecretName(name)) dropped.push(name);
    else variables[name] = value;
  }
  if (bytes > ENV_BYTES_MAX) throw invalidArgument('env', `at most ${ENV_BYTES_MAX} bytes in all`);
  return { variables, dropped };
}

// These make other programs run code of the caller's choice, or change how programs are loaded.
const isLoaderName = (name: string): boolean =>
  /^(LD_|DYLD_|GLIBC_|MALLOC_|BASH_FUNC_)/.test(name) || LOADER_NAMES.has(name);

const LOADER_NAMES: ReadonlySet<string> = new Set([
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_REPL_EXTERNAL_MODULE',
  'BASH_ENV',
  'ENV',
  // A shell takes these for its own, also the one that a command waits in.
  'BASHOPTS',
  'OPTIND',
  'SHELLOPTS',
  'GCONV_PATH',
  'PERL5OPT',
  'PYTHONSTARTUP',
  'RUBYOPT',
  'JAVA_TOOL_OPTIONS',
]);

const isSecretName = (name: string): boolean => /_(API_KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL)$/i.test(name);
