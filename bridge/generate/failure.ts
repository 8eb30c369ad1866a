// Why a model gave no answer, as the engine records it, with what a person can do about it.
import { MESSAGE_CHARS_MAX, RETRY_CAP_MS_MAX } from '../../schemas/limits.ts';
import { clip, messageOf } from '../log.ts';
import { PROVIDER_ERROR_CODES, ProviderError, type ProviderErrorCode } from '../providers/provider.ts';
import type { Redactor } from '../secrets/redactor.ts';

export interface Failure {
  readonly code: string;
  readonly message: string;
  /** The failure is transient: the run's retry policy applies. */
  readonly retryable?: true;
  readonly retry_after_ms?: number;
}

// Fields that cannot be recorded are omitted or clamped: if the engine refused the failure, the run would wait forever.
export function generateFailure(error: unknown, redactor: Redactor): Failure {
  const message = clip(redactor.text(messageOf(error)));
  if (!(error instanceof ProviderError)) return { code: 'provider_terminal', message };
  const { code, retryAfterMs } = error;
  if (!PROVIDER_ERROR_CODES.includes(code)) return { code: 'provider_terminal', message };
  if (code !== 'provider_retryable') return { code, message: withAdvice(code, message) };
  const retry_after_ms = Math.min(RETRY_CAP_MS_MAX, Math.ceil(retryAfterMs ?? Number.NaN));
  return { code, message, retryable: true, ...(retry_after_ms >= 0 ? { retry_after_ms } : {}) };
}

/** What a person can do about a failure that is not retried. */
const ADVICE: Partial<Readonly<Record<ProviderErrorCode, string>>> = {
  provider_auth: 'Give the bridge a key that this server accepts.',
  provider_quota: 'Add credit or raise the limit at the provider, or use another key.',
  context_length:
    'Give the config a context mark well below what the model takes, so that the conversation is compacted in time, or start a new session.',
  invalid_request: 'Correct the model name or the settings of the run; the same request would be refused again.',
};

function withAdvice(code: ProviderErrorCode, message: string): string {
  const advice = ADVICE[code];
  if (advice === undefined) return message;
  const said = clip(message, MESSAGE_CHARS_MAX - advice.length - 2);
  return `${said}${/[.!?…]$/.test(said) ? '' : '.'} ${advice}`;
}
