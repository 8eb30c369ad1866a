// Every bound of the bridge loop and of its providers, named once. The host tools have their own file.
import { BODY_BYTES_MAX, LEASE_EFFECTS_MAX } from '../schemas/limits.ts';

/** Leases one bridge holds at a time: what one heartbeat can name. */
export const LEASES_HELD_MAX = 4 * LEASE_EFFECTS_MAX;

/** First and longest wait before a request to the engine is made again. */
export const BACKOFF_MS_BASE = 100;
export const BACKOFF_MS_MAX = 5_000;

/** How long a call that was told to stop may take to do so before nobody waits for it any more. */
export const CALL_GRACE_MS = 2_000;
/** How long a bridge that was told to stop waits for what it runs, and for giving its leases back. */
export const STOP_GRACE_MS = 2_000;
export const RELEASE_MS_MAX = 500;

/** How often the engine is asked about calls that another bridge holds and a call here waits for. */
export const WATCH_EVERY_MS = 500;

/** Events and JSON characters of one submit; a character is at most three bytes, so it fits into one body. */
export const REPORT_EVENTS_MAX = 64;
export const REPORT_CHARS_MAX = Math.floor(BODY_BYTES_MAX / 4);
/** What all calls of one reply may add up to as JSON, in bytes. */
export const OBSERVED_BYTES_MAX = BODY_BYTES_MAX - 65_536;
/** What is kept of arguments that do not fit, in UTF-16 units. */
export const CUT_ARGUMENTS_CHARS = 256;

/** A tool's structured data above this many characters of JSON is left out of the result. */
export const RESULT_DATA_CHARS_MAX = 4_096;
/** Longest message of a failure, in UTF-16 units. */
export const MESSAGE_CHARS_MAX = 1_024;

/** Sessions whose last batch is remembered after its calls have left this bridge. */
export const BATCHES_REMEMBERED_MAX = 256;
/** Blob bytes kept in memory for the next generate. */
export const BLOB_CACHE_BYTES_MAX = 32 * 1_048_576;

/** Largest answer of a model, in bytes on the wire; and of an error, of which only the beginning matters. */
export const REPLY_BYTES_MAX = 16 * 1_048_576;
export const ERROR_BYTES_MAX = 65_536;
/** Longest silence of a model's server. */
export const PROVIDER_SILENCE_MS_DEFAULT = 180_000;
/** How often a request to a model is made again, and the longest wait its server may ask for. */
export const PROVIDER_RETRIES_MAX = 4;
export const RETRY_AFTER_MS_MAX = 60_000;
/** Largest recording, in bytes. */
export const RECORDING_BYTES_MAX = 64 * 1_048_576;
/** Largest object of secrets on standard input, in bytes. */
export const SECRETS_BYTES_MAX = 65_536;
