// What a host tool answers, and the one error type by which its parts say that it cannot.
import type { JsonObject } from '../../schemas/json.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { Withheld } from '../../schemas/undo.ts';

/** Facts about the host session that a call established. */
export interface HostSessionFacts {
  readonly host_session_id?: string;
  readonly host_session_status: 'ready' | 'closed' | 'expired' | 'error';
  readonly expires_at_ms?: number;
  readonly sandbox?: 'none' | 'bwrap';
  readonly workspace?: string;
}

/** A file that a call changed, with the bytes of before, which the executor turns into a blob. */
export interface ChangedFile {
  readonly path: string;
  readonly before: Buffer | Withheld | null;
  readonly after_digest: Digest | null;
  readonly mode?: number;
  readonly parents_made?: number;
}

export interface HostOutcome {
  readonly success: boolean;
  /** Stable failure code, only when success is false. */
  readonly code?: string;
  /** What the model reads: well-formed unicode, never empty. */
  readonly text: string;
  /** Structured payload: counts, exit_code, changed paths. Numbers are integers. */
  readonly data?: JsonObject;
  /** The whole output, when `text` holds only its head and tail. The caller uploads the file and deletes it. */
  readonly spill?: { readonly path: string; readonly bytes: number };
  readonly hostSession?: HostSessionFacts;
  /** The files it changed, with what stood there before. */
  readonly changes?: readonly ChangedFile[];
}

/** Why a tool cannot do what it was asked: a stable code and a sentence that tells the model what to do next. */
export class ToolFault extends Error {
  readonly code: string;
  readonly data: JsonObject | undefined;
  readonly hostSession: HostSessionFacts | undefined;

  constructor(code: string, message: string, more: { data?: JsonObject; hostSession?: HostSessionFacts } = {}) {
    super(message);
    this.name = 'ToolFault';
    this.code = code;
    this.data = more.data;
    this.hostSession = more.hostSession;
  }
}

export const succeeded = (text: string, data: JsonObject): HostOutcome => ({ success: true, text, data });

/** The outcome of whatever a tool threw. Errors of the operating system keep their symbolic name, never a stack. */
export function failed(error: unknown): HostOutcome {
  const fault = error instanceof ToolFault ? error : faultOfSystem(error);
  return {
    success: false,
    code: fault.code,
    text: `${fault.code}: ${fault.message}`,
    ...(fault.data === undefined ? {} : { data: fault.data }),
    ...(fault.hostSession === undefined ? {} : { hostSession: fault.hostSession }),
  };
}

/** Runs `act`; a fault whose code is a key of `codes` is thrown again under the code the caller's contract names. */
export function recoding<T>(codes: Readonly<Record<string, string>>, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const fault = error instanceof ToolFault ? error : faultOfSystem(error);
    const code = Object.hasOwn(codes, fault.code) ? codes[fault.code] : undefined;
    if (code === undefined) throw error;
    throw new ToolFault(code, fault.message, fault.data === undefined ? {} : { data: fault.data });
  }
}

const systemFaults: Readonly<Record<string, readonly [code: string, message: string]>> = {
  ENOENT: ['not_found', 'the path does not exist (or vanished while the call ran); list the directory and try again'],
  ENOTDIR: ['not_directory', 'a part of the path is not a directory'],
  EISDIR: ['is_directory', 'the path is a directory'],
  EEXIST: ['file_exists', 'the path already exists'],
  EACCES: ['forbidden', 'the operating system denies access to the path; choose another one'],
  EPERM: ['forbidden', 'the operating system does not permit this on the path; choose another one'],
  ELOOP: ['forbidden', 'a part of the path is a symbolic link; name the real path instead'],
  ENAMETOOLONG: ['invalid_path', 'the path, or a name in it, is too long'],
  EROFS: ['write_failed', 'the file system is read-only; nothing was written'],
  ENOSPC: ['write_failed', 'the disk is full; nothing was written'],
  EDQUOT: ['write_failed', 'the disk quota is used up; nothing was written'],
};

function faultOfSystem(error: unknown): ToolFault {
  const name = errorName(error);
  const known = Object.hasOwn(systemFaults, name) ? systemFaults[name] : undefined;
  if (known !== undefined) return new ToolFault(known[0], known[1]);
  return new ToolFault('host_error', `the host could not run the call (${name}); it may work when tried again`);
}

/** The errno name of a system error (`ENOENT`), else the error's class. Messages are left out: they hold paths. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : error.name;
}
