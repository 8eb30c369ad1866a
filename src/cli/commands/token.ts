// `refold token`: the tokens of a data directory. It prints where a token is kept, never the token.
import { isLeft } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import { Access } from '../../../schemas/access.ts';
import { decode } from '../../../schemas/codec.ts';
import { PageId } from '../../../schemas/pages.ts';
import {
  type ListedToken,
  createToken,
  ensureTokens,
  listTokens,
  revokeToken,
  rotateToken,
} from '../../server/token-store.ts';
import { makeDataDir } from '../data-dir.ts';
import { endPage, listPages } from '../page/page-tokens.ts';
import { CommandFailure, type Output } from '../output.ts';

export interface TokenCommand {
  readonly dataDir: string;
  readonly action: string;
  readonly name: string | undefined;
  /** What a new token is for, as given. */
  readonly access: unknown;
}

export async function tokenCommand({ dataDir, action, name, access }: TokenCommand, output: Output): Promise<number> {
  const does = Object.hasOwn(ACTIONS, action) ? ACTIONS[action as keyof typeof ACTIONS] : null;
  if (does === null) throw misuse(`there is no action "${action}"; use create, list, rotate or revoke`);
  if (name === undefined && action !== 'list') throw misuse(`name the token: refold token ${action} NAME`);
  await makeDataDir(dataDir);
  await ensureTokens(dataDir);
  for (const line of await does(dataDir, name ?? '', access).catch(asFailure)) {
    output.object({ event: 'token', action, ...line.token });
    output.line(line.text);
  }
  return 0;
}

interface Line {
  readonly token: object;
  readonly text: string;
}

const ACTIONS = {
  async create(dataDir: string, name: string, given: unknown): Promise<readonly Line[]> {
    const access = decode(Access, given);
    if (isLeft(access)) throw new Error(`--${access.left.path.split('/')[1] ?? ''}: ${access.left.message}`);
    const file = await createToken(dataDir, name, access.right);
    return [{ token: { name, file, ...access.right }, text: `token ${paint.bold(name)} in ${file}` }];
  },
  async list(dataDir: string): Promise<readonly Line[]> {
    const pages = (await listPages(dataDir)).map((page) => ({
      token: page,
      text: `${paint.bold(page.id)}  ${page.scope}  a page of ${page.name}, since ${new Date(page.since_ms).toISOString()}`,
    }));
    return [...(await listTokens(dataDir)).map((token) => ({ token, text: describe(token) })), ...pages];
  },
  async rotate(dataDir: string, name: string): Promise<readonly Line[]> {
    const file = await rotateToken(dataDir, name);
    return [{ token: { name, file }, text: `a new token ${paint.bold(name)} is in ${file}; the old one is refused` }];
  },
  async revoke(dataDir: string, name: string): Promise<readonly Line[]> {
    if (PageId.is(name)) {
      await endPage(dataDir, name);
      return [{ token: { id: name }, text: `the page ${paint.bold(name)} is refused from now on` }];
    }
    const file = await revokeToken(dataDir, name);
    return [{ token: { name, file }, text: `the token ${paint.bold(name)} is refused from now on` }];
  },
} as const;

function describe({ name, file, access, problem }: ListedToken): string {
  if (access === null) return `${paint.bold(name)}  ${paint.red(`refused: ${problem ?? ''}`)}`;
  const only = [...(access.kinds ?? []), ...(access.tools ?? [])];
  return `${paint.bold(name)}  ${access.scope}${only.length === 0 ? '' : ` only ${only.join(', ')}`}  ${paint.dim(file)}`;
}

const misuse = (message: string): CommandFailure => new CommandFailure('invalid_shape', message);

const asFailure = (error: unknown): never => {
  throw new CommandFailure('token_refused', error instanceof Error ? error.message : String(error));
};
