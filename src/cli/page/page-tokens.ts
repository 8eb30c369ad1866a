// What commands ask a running engine about its pages: a code for a new one, which ones have a token, and to end one.
import { type Codec, shape } from '../../../schemas/codec.ts';
import { type AskCode, PageCode, PageId, PageList } from '../../../schemas/pages.ts';
import { type RouteCall, newTransport } from '../../client/http-transport.ts';
import { must } from '../../client/must.ts';
import { readToken, tokenFile } from '../../client/token-file.ts';
import { refuseStranger } from '../../files/listening-user.ts';
import { findEngine } from '../engine-address.ts';
import { CommandFailure } from '../output.ts';

/** A code for a page of the engine at this address. */
export async function askCode(dataDir: string, url: string, asked: AskCode): Promise<string> {
  const { code } = await ask(dataDir, url, PageCode, { route: 'askCode', json: asked });
  return code;
}

/** The pages of the running engine of a data directory; none when no engine runs. */
export async function listPages(dataDir: string): Promise<PageList['pages']> {
  const url = await urlOf(dataDir);
  return url === null ? [] : (await ask(dataDir, url, PageList, { route: 'pages' })).pages;
}

/** Ends the token of a page. */
export async function endPage(dataDir: string, id: PageId): Promise<void> {
  const url = await urlOf(dataDir);
  if (url === null) throw new CommandFailure('not_found', 'no engine runs, so no page has a token');
  await ask(dataDir, url, Ended, { route: 'endPage', of: id });
}

const Ended = shape('Ended', { id: PageId });

async function urlOf(dataDir: string): Promise<string | null> {
  const running = await findEngine(dataDir);
  await running?.client.close();
  return running?.url ?? null;
}

async function ask<T>(dataDir: string, url: string, codec: Codec<T>, call: RouteCall): Promise<T> {
  const operator = tokenFile(dataDir, 'operator');
  const transport = newTransport(url, await readToken(operator), { refuseListener: refuseStranger(url, operator) });
  try {
    return await must(transport.call(codec, call));
  } finally {
    transport.close();
  }
}
