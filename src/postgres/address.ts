// The address of a database: what the driver connects with, and how messages name it, without its password.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { type Rejection, reject } from '../../schemas/rejection.ts';

export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** The name and password to log in with; absent where the environment of the driver has them (PGUSER, PGPASSWORD). */
  readonly user?: string;
  readonly password?: string;
  /** The file with the certificates that may have signed that of the server; those of the platform when absent. */
  readonly rootCertificate?: string;
  /** Whether the host is this machine, so that nothing is encrypted. */
  readonly isLocal: boolean;
  /** The URL without its password, for people. */
  readonly shown: string;
}

const PROTOCOLS: ReadonlySet<string> = new Set(['postgres:', 'postgresql:']);
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const PORT = 5_432;

/** Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; a HOST in the query that begins with `/` is the directory of a socket. */
export function postgresAddress(url: string): Either<Rejection, PostgresAddress> {
  // `postgres:///database?host=/run/postgresql` has no host, which a URL of this kind may not have.
  const parsed = parse(url.replace(/^(postgres(?:ql)?:\/\/(?:[^/@]*@)?)\//, '$1localhost/'));
  if (parsed === null || !PROTOCOLS.has(parsed.protocol)) {
    return left(reject('invalid_shape', '/journal', `the journal is not a URL: give ${FORM}`));
  }
  const [database, user, password] = [parsed.pathname.slice(1), parsed.username, parsed.password].map(readable);
  if (database === undefined || user === undefined || password === undefined) {
    return left(
      reject('invalid_shape', '/journal', `the URL of the journal has a wrong percent-encoding: give ${FORM}`),
    );
  }
  if (database === '') return left(reject('invalid_shape', '/journal', `the URL names no database: give ${FORM}`));
  const options = new Map(parsed.searchParams);
  const socket = options.get('host') ?? '';
  const isLocal = socket.startsWith('/') || LOOPBACK.test(parsed.hostname);
  const refused = refusedOption(options, isLocal);
  if (refused !== null) return left(refused);
  const port = parsed.port === '' ? PORT : Number(parsed.port);
  const host = socket.startsWith('/') ? socket : parsed.hostname.replace(/^\[(.*)\]$/, '$1');
  const at = host === socket ? socket : `${parsed.hostname}:${port}`;
  return right({
    host,
    port,
    database,
    isLocal,
    ...optional({ user, password, rootCertificate: options.get('sslrootcert') ?? '' }),
    shown: `postgres://${user === '' ? '' : `${user}@`}${at}/${database}`,
  });
}

type Optional = Pick<PostgresAddress, 'user' | 'password' | 'rootCertificate'>;

const optional = (fields: Required<Optional>): Optional =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));

const FORM = 'postgres://USER:PASSWORD@HOST:5432/DATABASE';

/** The certificate of a server elsewhere is always verified, so a URL must not ask for less. */
function refusedOption(options: ReadonlyMap<string, string>, isLocal: boolean): Rejection | null {
  for (const [name, value] of options) {
    if (name === 'host' && value.startsWith('/')) continue;
    if (name === 'sslrootcert') continue;
    if (name === 'sslmode' && (isLocal || value === 'verify-full')) continue;
    const next =
      name === 'sslmode' ? `the certificate of the server is always verified: use verify-full` : 'leave it out';
    return reject('invalid_shape', '/journal', `the URL of the journal has the option ${name}=${value}; ${next}`);
  }
  return null;
}

function parse(url: string): URL | null {
  try {
    return new URL(url);
  } catch {
    return null;
  }
}

function readable(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
