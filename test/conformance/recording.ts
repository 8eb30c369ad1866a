// What a recorded exchange gives: a turn, with or without faults, a classified error, or no turn with the reason.
import type { Dialect } from '../../bridge/providers/api/dialect.ts';
import { type ExactJson, parseExact } from '../../bridge/providers/api/exact-json.ts';
import { ProviderError } from '../../bridge/providers/provider.ts';

/** A line of a corpus: an exchange, with the response as JSON or as the text of its stream. */
export interface Recording {
  /** Digest of its content. */
  readonly h?: string;
  /** Names the model in some APIs. */
  readonly urlpath?: string;
  readonly status: number;
  readonly response?: unknown;
  readonly response_text?: string | null;
}

/** How the exchanges of one API are checked. */
export interface RecordingCheck {
  readonly dialect: Dialect;
  /** What differs from what it must be. Throws a {@link ProviderError} when the answer gives no turn. */
  readonly faultsOf: (recording: Recording) => readonly string[] | Promise<readonly string[]>;
}

export type Outcome =
  | { readonly kind: 'decoded'; readonly faults: readonly string[] }
  | { readonly kind: 'error'; readonly code: string }
  | { readonly kind: 'undecoded'; readonly reason: string };

export interface Report {
  readonly records: number;
  readonly decoded: number;
  /** Error statuses by the code that they were classified as. */
  readonly errors: Readonly<Record<string, number>>;
  /** Responses that give no turn: the line, then the reason. */
  readonly undecoded: readonly string[];
  /** What differs from what it must be: the line, then the difference. */
  readonly differences: readonly string[];
}

export async function outcomeOf(recording: Recording, { dialect, faultsOf }: RecordingCheck): Promise<Outcome> {
  if (recording.status >= 400) {
    return { kind: 'error', code: dialect.errorOf(jsonOrText(bodyText(recording)), recording.status).code };
  }
  try {
    return { kind: 'decoded', faults: await faultsOf(recording) };
  } catch (error) {
    if (error instanceof ProviderError) return { kind: 'undecoded', reason: `${error.code} ${error.message}` };
    return { kind: 'decoded', faults: [error instanceof Error ? (error.stack ?? error.message) : String(error)] };
  }
}

export async function reportOf(lines: readonly Recording[], check: RecordingCheck): Promise<Report> {
  const errors: Record<string, number> = {};
  const undecoded: string[] = [];
  const differences: string[] = [];
  let decoded = 0;
  for (const [index, recording] of lines.entries()) {
    const outcome = await outcomeOf(recording, check);
    if (outcome.kind === 'error') errors[outcome.code] = (errors[outcome.code] ?? 0) + 1;
    else if (outcome.kind === 'undecoded') undecoded.push(`${index + 1}: ${outcome.reason}`);
    else {
      decoded += 1;
      differences.push(...outcome.faults.map((fault) => `${index + 1}: ${fault}`));
    }
  }
  return { records: lines.length, decoded, errors, undecoded, differences };
}

/** The response as it came, or as good as it came. */
export const bodyText = ({ response, response_text }: Recording): string => response_text ?? JSON.stringify(response);

export function jsonOrText(text: string): ExactJson {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}
