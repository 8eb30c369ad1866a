// The limits of the MCP server: what one host outside may ask of it.
/** Milliseconds in which the calls of a host join one batch, counted from the first of them. Later ones join the next. */
export const HOST_WINDOW_MS = 10;
/** Calls of one host that wait for a batch; one more is refused, and the host told to call again later. */
export const HOST_CALLS_WAITING_MAX = 256;
/** Milliseconds for which a host that lists or calls tools is held while its host session opens; then it has those that are there. */
export const HOST_OPENING_MS = 5_000;
/** Characters of JSON in the arguments of one batch of a host; the call that would exceed it begins the next. */
export const HOST_BATCH_CHARS_MAX = 262_144;
/** Bytes of one line of a host; a longer one is skipped to its end and answered with an error. */
export const HOST_LINE_BYTES_MAX = 1_048_576;
/** Calls of one host that ended last and are kept in memory; an earlier one that the host comes back for is read from the log. */
export const HOST_ENDED_KEPT_MAX = 256;
/** Milliseconds that a call which a host retries is held while it still waits for a person, before it is told so again. */
export const HOST_HOLD_MS = 20_000;
/** Seconds in which a host may go on with a call that waits for a person; afterwards its result is in the log only. */
export const HOST_STATE_TTL_S = 7 * 86_400;
/** Hosts that are connected over HTTP at a time; the one that was idle longest is disconnected for one more. */
export const HOSTS_MAX = 64;
/** Milliseconds after which a host that sends nothing over HTTP is disconnected; its session stays. */
export const HOST_IDLE_MS = 30 * 60_000;
/** Streams of notifications that one host may have open at a time; one more is refused. */
export const HOST_SUBSCRIPTIONS_MAX = 16;
/** Bytes of a blob that goes to a host as an image or a file; a larger one is named instead. */
export const HOST_BLOB_BYTES_MAX = 4 * 1_048_576;
/** Turns that the timeline of a session shows a host: the last ones. */
export const HOST_TIMELINE_TURNS_MAX = 100;
/** Tries to submit the calls of a host while the engine does not answer, and the milliseconds before each next one. */
export const HOST_SUBMITS_MAX = 8;
export const HOST_SUBMIT_AGAIN_MS = 500;
/** Milliseconds after which a call of a host that takes tasks is one, when it has not ended. */
export const HOST_TASK_AFTER_MS = 750;
/** Milliseconds after which a host is to ask again for a call that is a task. */
export const HOST_POLL_MS = 500;
/** Tasks on one page of the list of a host. */
export const HOST_TASKS_LISTED_MAX = 100;
/** Searches of the log that wait for one host; one more is refused, and the host told to ask again later. */
export const HOST_SEARCHES_MAX = 16;
/** Messages over HTTP that one connection keeps for a host whose stream breaks, their characters, and when it comes back. */
export const HOST_SENT_MAX = 256;
export const HOST_SENT_CHARS_MAX = 2 * 1_048_576;
export const HOST_RETRY_MS = 1_000;
/** Bytes on their way to a host that does not read; with more, the connection ends. */
export const HOST_UNREAD_BYTES_MAX = 16 * 1_048_576;
/** Milliseconds for which a host whose connection has ended may still read what it was sent; then the process exits. */
export const HOST_FLUSH_MS = 2_000;
