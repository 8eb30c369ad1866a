// Every bound of the system, named once. A limit that is not in this file does not exist.

/** Deepest nesting of a JSON value that may enter (DESIGN section 5). */
export const JSON_DEPTH_MAX = 64;
/** Most values (containers and leaves) one JSON document may hold. */
export const JSON_NODES_MAX = 1_000_000;
/** Largest HTTP request body, and largest JSON document the engine reads, in bytes. */
export const BODY_BYTES_MAX = 1_048_576;
/** Largest blob, in bytes. */
export const BLOB_BYTES_MAX = 64 * 1_048_576;
/** Text and arguments up to this many UTF-16 units stay inside events and state; larger ones become blobs. */
export const INLINE_CHARS_MAX = 4_096;
/** What a blob reference repeats of the start and of the end of its text, in UTF-16 units. */
export const EXCERPT_CHARS = 512;

/** Most events one append may carry. */
export const EVENTS_PER_APPEND_MAX = 256;
/** Most calls one batch may hold. */
export const CALLS_PER_BATCH_MAX = 10_000;
/** Most waiting edges one plan may hold; a call that would exceed it is refused (`batch_too_entangled`). */
export const PLAN_EDGES_MAX = 100_000;
/** Calls per page of the live batch, so that a settlement copies one page and not the whole batch. */
export const CALL_PAGE_SIZE = 64;
/** Most claims a tool spec may declare. */
export const CLAIM_RULES_MAX = 8;
/** Most claims one call may make (a patch names many paths); beyond it the claim widens to the whole space. */
export const CLAIMS_PER_CALL_MAX = 256;

/** Most tools in a registry. */
export const TOOLS_MAX = 1_024;
/** Most profiles beside a registry. */
export const PROFILES_MAX = 64;
/** Longest tool description, in UTF-16 units. */
export const DESCRIPTION_CHARS_MAX = 8_192;
/** Most capability facts in the runtime context. */
export const CAPABILITIES_MAX = 64;

/** Turns a run may take unless its config says otherwise. */
export const TURNS_DEFAULT = 100;
export const TURNS_MAX = 100_000;
/** Calls a run may make unless its config says otherwise. */
export const CALLS_DEFAULT = 2_000;
export const CALLS_MAX = 10_000_000;
/** The same call this many times in a row is answered instead of run (DESIGN section 8, loop guards). */
export const REPEATS_DEFAULT = 5;
export const REPEATS_MAX = 1_000;
/** Calls a bridge runs at a time (`CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY`, September "Concurrency"). */
export const CONCURRENCY_DEFAULT = 10;
export const CONCURRENCY_MAX = 256;
/** Steering messages and follow-up runs that may wait. */
export const STEERS_MAX = 16;
export const FOLLOW_UPS_MAX = 16;
/** Ended runs that state remembers; older ones are in the stream. */
export const RUN_HISTORY_MAX = 16;

/** Transcript entries in the open page before it is sealed into a blob. */
export const TRANSCRIPT_PAGE_ENTRIES = 64;
/** Sealed pages in the window that the next generate sees; older ones leave the window. */
export const TRANSCRIPT_PAGES_MAX = 64;

/** Time limit of a call unless its tool says otherwise, in milliseconds. */
export const CALL_TIMEOUT_MS_DEFAULT = 120_000;
export const CALL_TIMEOUT_MS_MAX = 3_600_000;
/** What the model sees of one output unless its tool says otherwise, in bytes. */
export const OUTPUT_BYTES_DEFAULT = 30_000;
export const OUTPUT_BYTES_MAX = 1_048_576;

/** Effects handed out by one lease request. */
export const LEASE_EFFECTS_MAX = 256;
/** How long a lease lasts without a heartbeat, in milliseconds. */
export const LEASE_TTL_MS = 15_000;
/** Longest wait of one lease request, in milliseconds. */
export const LEASE_WAIT_MS_MAX = 25_000;
/** Requests that may wait in one session's queue. */
export const QUEUE_MAX = 1_024;
/** Records read from the journal at a time. */
export const READ_PAGE_RECORDS = 1_000;
/** Events a slow subscriber may leave unread before it is dropped (it resumes from its position). */
export const SUBSCRIBER_BACKLOG_MAX = 4_096;
/** Subscriptions open at a time on one server. */
export const SUBSCRIBERS_MAX = 256;
/** Events a follower reads from the journal at a time, so that a stalled one holds little. */
export const FOLLOW_PAGE_RECORDS = 64;
/** Bytes of requests that may wait in one session's queue. */
export const QUEUE_BYTES_MAX = 32 * 1_048_576;
/** Bytes of requests that one append merges. */
export const APPEND_BYTES_MAX = 4 * 1_048_576;
/** Sessions kept in memory while nothing is owed to them; the least recently used beyond it are loaded again when asked for. */
export const LIVE_SESSIONS_MAX = 1_024;
/** How long the engine waits before it tries again what its storage did not take, in milliseconds. */
export const RETRY_MS = 1_000;
/** Longest time a wake sleeps before it looks at the clock again, which may have jumped meanwhile, in milliseconds. */
export const WAKE_CHECK_MS_MAX = 60_000;
/** How long a client waits for the answer to a request, beyond the wait it asked for, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 60_000;
