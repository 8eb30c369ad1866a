// What a person's login at a server left: the tokens, the client that they were given to, and the key that they are bound to. One
// file for each server and address, readable by its owner only, in the data directory, which no tool and no server sees. Several
// bridges may share one; each reads it anew, so that a token that one has refreshed serves all.
import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { digestText } from '../../../schemas/canonical.ts';
import { isPlainObject } from '../../../schemas/json.ts';
import { MCP_LOGIN_BYTES_MAX } from '../../../schemas/limits.ts';
import { makeDirectoryNow } from '../../../src/files/directories.ts';

export interface LoginRecord {
  readonly server: string;
  readonly url: string;
  /** Where the browser was sent back to: the client is registered with it. */
  readonly redirect_uri: string;
  readonly client: StoredOAuthClientInformation;
  readonly tokens: StoredOAuthTokens;
  /** The private key that the tokens are bound to (RFC 9449), as a JSON Web Key. */
  readonly dpop_key?: Readonly<Record<string, unknown>>;
  /** A scope that a call needed and the tokens lack: the next login asks for it. */
  readonly wanted_scope?: string;
}

/** The login at one server. Its methods throw when the file cannot be read or written. */
export interface Login {
  /** The name of the server, for people. */
  readonly server: string;
  /** Null when no person has signed in, also when the server has another address now. */
  read(): LoginRecord | null;
  write(record: LoginRecord): void;
  /** False when there was none. */
  remove(): boolean;
}

export interface Logins {
  of(server: string, url: string): Login;
}

export const openLogins = (directory: string): Logins => ({
  of(server, url) {
    // An address is part of the name: what was obtained for one is never sent to another.
    const file = join(directory, `${digestText(JSON.stringify([server, url])).slice(7, 39)}.json`);
    return {
      server,
      read: () => readRecord(file, server, url),
      write(record) {
        makeDirectoryNow(directory);
        const next = `${file}.${randomUUID()}.tmp`;
        try {
          writeFileSync(next, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
          renameSync(next, file);
        } finally {
          rmSync(next, { force: true });
        }
      },
      remove() {
        const known = statSync(file, { throwIfNoEntry: false }) !== undefined;
        rmSync(file, { force: true });
        return known;
      },
    };
  },
});

/** A file that is no login counts as none: the person signs in again, which replaces it. */
function readRecord(file: string, server: string, url: string): LoginRecord | null {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile() || stats.size > MCP_LOGIN_BYTES_MAX) return null;
  try {
    const said: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isRecord(said) && said.server === server && said.url === url ? said : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const isRecord = (said: unknown): said is LoginRecord =>
  isPlainObject(said) &&
  typeof said['redirect_uri'] === 'string' &&
  isPlainObject(said['client']) &&
  typeof said['client']['client_id'] === 'string' &&
  isPlainObject(said['tokens']) &&
  typeof said['tokens']['access_token'] === 'string';

/** What of a login must appear nowhere. */
export function secretsOf({ client, tokens }: LoginRecord): readonly string[] {
  const { client_secret: secret } = client as { readonly client_secret?: string };
  const { access_token: access, refresh_token: refresh, id_token: id } = tokens;
  return [secret, access, refresh, id].filter((value) => typeof value === 'string');
}
