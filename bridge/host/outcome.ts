// What a host tool returns, and the one error type that host code throws when a tool cannot do its work.
import type { Digest } from '../../schemas/ids.ts';
import type { MediaType } from '../../schemas/content.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { HostSessionFacts } from '../../schemas/tool-set.ts';
import type { Withheld } from '../../schemas/undo.ts';

/** A file that a call changed, with its bytes before the call, which the executor stores as a blob. */
export interface ChangedFile {
  /** Relative to the workspace. */
  readonly path: string;
  /** The former bytes; null when the file did not exist; or why they are not kept. */
  readonly before: Buffer | Withheld | null;
  /** The SHA-256 digest of the new content; null when the file was deleted. */
  readonly after_digest: Digest | null;
  /** The former permission bits. */
  readonly mode?: number;
  /** How many directories above it the call created. */
  readonly parents_made?: number;
}

/** A file that the model gets with the text; the executor stores it as a blob. */
export interface ShownFile {
  /** Its content. */
  readonly bytes: Buffer;
  /** Such as `image/png`. */
  readonly media_type: MediaType;
  /** The name that the model is told. */
  readonly name: string;
}

export interface HostOutcome {
  /** Whether the tool did what the call asks. */
  readonly success: boolean;
  /** A stable failure code, present only when `success` is false. */
  readonly code?: string;
  /** What the model reads: well-formed Unicode, never empty. */
  readonly text: string;
  /** What to do next, for a program that drives the model; only on failures that say it. */
  readonly nextAction?: string;
  /** Structured payload: counts, `exit_code`, changed paths. Numbers are integers. */
  readonly data?: JsonObject;
  /** A file with the whole output, when `text` holds only its head and tail. The caller uploads it and deletes it. */
  readonly spill?: {
    /** The file, outside the workspace. */
    readonly path: string;
    /** Its length. */
    readonly bytes: number;
  };
  /** Why there is no such file, when there should be one. */
  readonly unkept?: string;
  /** Facts about the host session that the call established. */
  readonly hostSession?: HostSessionFacts;
  /** Images and PDFs that the model gets with the text. */
  readonly shown?: readonly ShownFile[];
  /** The files the call changed, with their bytes before it. */
  readonly changes?: readonly ChangedFile[];
}

/** Why a tool cannot do what the call asks: a stable code, and a message that states what the model can do next. */
export class ToolFault extends Error {
  readonly code: string;
  readonly data: JsonObject | undefined;
  readonly hostSession: HostSessionFacts | undefined;
  readonly nextAction: string | undefined;

  constructor(
    code: string,
    message: string,
    more: { data?: JsonObject; hostSession?: HostSessionFacts; nextAction?: string } = {},
  ) {
    super(message);
    this.name = 'ToolFault';
    this.code = code;
    this.data = more.data;
    this.hostSession = more.hostSession;
    this.nextAction = more.nextAction;
  }
}

export const succeeded = (text: string, data: JsonObject): HostOutcome => ({ success: true, text, data });

/** The outcome for an error that a tool threw. An operating-system error is named by its symbol, never by a stack. */
export function failed(error: unknown): HostOutcome {
  const fault = error instanceof ToolFault ? error : faultOfSystem(error);
  return {
    success: false,
    code: fault.code,
    text: `${fault.code}: ${fault.message}`,
    ...(fault.data === undefined ? {} : { data: fault.data }),
    ...(fault.nextAction === undefined ? {} : { nextAction: fault.nextAction }),
    ...(fault.hostSession === undefined ? {} : { hostSession: fault.hostSession }),
  };
}

/** Runs `act`. A fault whose code is a key of `codes` is thrown again with the code it maps to. */
export function withFaultCodes<T>(codes: Readonly<Record<string, string>>, act: () => T): T {
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
  ENOENT: ['not_found', 'the path does not exist, or was removed while the call ran; list the directory and try again'],
  ENOTDIR: [
    'not_directory',
    'a component of the path is not a directory; list the parent directory to see what exists',
  ],
  EISDIR: ['is_directory', 'the path is a directory; name a file'],
  EEXIST: ['file_exists', 'the path already exists; choose another path'],
  EACCES: ['forbidden', 'the operating system denies access to the path; choose another path'],
  EPERM: ['forbidden', 'the operating system does not permit the operation on the path; choose another path'],
  ELOOP: ['forbidden', 'a component of the path is a symbolic link; name the real path instead'],
  ENAMETOOLONG: ['invalid_path', 'the path, or a name in it, is too long; choose a shorter path'],
  EROFS: ['write_failed', 'the file system is read-only; nothing was written'],
  ENOSPC: ['write_failed', 'the disk is full; nothing was written'],
  EDQUOT: ['write_failed', 'the disk quota is exceeded; nothing was written'],
};

function faultOfSystem(error: unknown): ToolFault {
  const name = errorName(error);
  const known = Object.hasOwn(systemFaults, name) ? systemFaults[name] : undefined;
  if (known !== undefined) return new ToolFault(known[0], known[1]);
  return new ToolFault('host_error', `the host could not run the call (${name}); try again`);
}

/** The errno name of a system error (`ENOENT`), else the error's class. Messages are left out: they contain paths. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : error.name;
}
