// Every bound of the system. Each docstring states what is limited, in which unit, and what happens at the bound.
export * from './limits/commands.ts';
export * from './limits/postgres.ts';
export * from './limits/frames.ts';
export * from './limits/mcp.ts';
export * from './limits/mcp-server.ts';
export * from './limits/questions.ts';
export * from './limits/simulation.ts';
export * from './limits/skills.ts';
export * from './limits/toolsets.ts';

/** Longest work of the engine in one turn of the event loop, in milliseconds. Then the rest waits for the next turn. */
export const TURN_MS_MAX = 8;

/** Deepest nesting of a JSON value, in containers. A deeper one is refused as `too_deep`. */
export const JSON_DEPTH_MAX = 64;
/** Most values (containers and leaves) in one JSON document. A larger one is refused as `too_large`. */
export const JSON_NODES_MAX = 1_000_000;
/**
 * Most values in one request, counted by the commas and brackets of its text, because values cost more than bytes: reading
 * this many takes some 20 ms. A request with more is refused as `too_large`, before it is parsed. Arguments of a model with
 * more count as unreadable.
 */
export const BODY_VALUES_MAX = 32_768;
/**
 * Largest HTTP request body and largest JSON document the engine reads, in bytes. A larger one is refused as
 * `too_large`.
 */
export const BODY_BYTES_MAX = 1_048_576;
/** Most submits in one HTTP request. The client sends further ones in the next request; the server refuses more. */
export const SUBMITS_TOGETHER_MAX = 256;
/** Largest blob, in bytes. A larger one is refused as `too_large`; a bridge cuts larger output. */
export const BLOB_BYTES_MAX = 64 * 1_048_576;
/** Most parts that are joined into one blob. A request with more is refused as `invalid_shape`. */
export const BLOB_PARTS_MAX = 256;
/** A client sends a blob of more bytes than this in parts of this size, and then has them joined. */
export const BLOB_PART_BYTES = 1_048_576;
/** Most requests to join blobs that wait or run at a time: one runs. A further one is refused as `queue_full`. */
export const BLOB_JOINS_WAITING_MAX = 16;
/**
 * Most bytes of blobs that clients have put to an engine since its start and that no event names. A further one is refused as
 * `uploads_full`.
 */
export const UNNAMED_BLOB_BYTES_MAX = 4_294_967_296;
/** A smaller blob counts as so many bytes among them, so that their number is bounded. */
export const UNNAMED_BLOB_BYTES_MIN = 16_384;
/** Largest attachment, in bytes. A larger one is refused as `invalid_shape`. */
export const ATTACHMENT_BYTES_MAX = 16 * 1_048_576;
/** Most attachments of one message or result. More are refused as `invalid_shape`. */
export const ATTACHMENTS_MAX = 16;
/** Longest name of an attachment, in UTF-16 units. A longer one is refused as `invalid_shape`. */
export const ATTACHMENT_NAME_CHARS_MAX = 256;
/**
 * Bytes of blobs put without durability that may wait to be written. Beyond it, such a put waits until the earlier ones are
 * written.
 */
export const LATE_PUT_BYTES_MAX = 64 * 1_048_576;
/** Longest text, and longest arguments as JSON, inside events and state, in UTF-16 units. Longer ones become blobs. */
export const INLINE_CHARS_MAX = 4_096;
/** Length of the excerpts in a blob reference, from the start and the end of its text, in UTF-16 units. */
export const EXCERPT_CHARS = 512;

/**
 * Longest event that is recorded, in UTF-16 units of its canonical text. A longer one is refused as `too_large`, so that
 * every recorded event fits a line that an import reads, and the calls of one answer a page of the conversation.
 */
export const EVENT_CHARS_MAX = 4 * 1_048_576;
/** Most events in one commit. A submit with more is refused as `invalid_shape`; the engine merges submits up to it. */
export const EVENTS_PER_COMMIT_MAX = 256;
/** Most calls in one batch. A reply of a model with more fails the generate. */
export const CALLS_PER_BATCH_MAX = 1_024;
/** Most edges (one call waits for another) in one plan. Calls beyond it are refused as `batch_too_entangled`. */
export const PLAN_EDGES_MAX = 32_000;
/**
 * Most bytes of JSON that the results of one batch take together in the conversation. A result beyond it is left out, and
 * its text says so (`result_left_out`); with the calls and the texts, a page of the conversation then fits one blob.
 */
export const BATCH_OUTPUT_BYTES_MAX = 16 * 1_048_576;
/** A result of at most this size is never left out, in bytes of JSON; the text in the place of another is smaller. */
export const BATCH_OUTPUT_KEPT_BYTES = 512;
/** Calls in one page of the open batch: a settlement copies one page, not the whole batch. */
export const CALL_PAGE_SIZE = 64;
/** Most claim rules in a tool spec. A spec with more is refused as `invalid_shape`. */
export const CLAIM_RULES_MAX = 8;
/** Most claims of one call (a patch may name many paths). Beyond it the call claims whole spaces. */
export const CLAIMS_PER_CALL_MAX = 256;
/** Most claims of all calls of one batch. A call that would exceed it claims whole spaces. */
export const CLAIMS_PER_BATCH_MAX = 8_192;
/**
 * Longest keys of all claims of one batch together, in UTF-16 units, recorded and planned. A call that would exceed it
 * claims whole spaces: several rules may claim one long argument, and events, plans and pages carry the claims.
 */
export const CLAIM_CHARS_PER_BATCH_MAX = 262_144;
/** Longest text that becomes a claim, in UTF-16 units. A longer one claims the whole space. */
export const CLAIM_TEXT_CHARS_MAX = 256;

/**
 * Most tools in a tool package, a profile, a list of overrides and an offer. More are refused as `invalid_shape`; an offer
 * leaves the others out.
 */
export const TOOLS_MAX = 512;
/**
 * Most steps of a check that the engine makes on its own thread: values of the schema times values of the checked value.
 * A larger check, and every check whose steps cannot be counted, is made on another thread, within a time.
 */
export const SCHEMA_STEPS_INLINE_MAX = 50_000;
/** Most such steps of all calls of one request together. Further checks are made on the other thread. */
export const SCHEMA_STEPS_REQUEST_MAX = 2_000_000;
/** Most bytes of arguments that the calls of one request name as blobs. A request with more is refused as `too_large`. */
export const ARGUMENT_BYTES_REQUEST_MAX = 2_097_152;
/** Most values of a schema that is compiled on the engine's own thread. A larger one is compiled on the other thread. */
export const SCHEMA_VALUES_INLINE_MAX = 512;
/**
 * Longest time that the checks of one request take on the other thread, in milliseconds. A value that is not checked by
 * then counts as one that does not fit, and the verdict says that its check took too long.
 */
export const SCHEMA_CHECK_MS_MAX = 250;
/**
 * Most checks of all sessions that wait for the other thread. Beyond it, one that is not made counts as a value that does not
 * fit, and the verdict says so: one of a schema whose last check took too long, else the new one.
 */
export const SCHEMA_CHECKS_WAITING_MAX = 64;
/** The checks that wait share this time, in milliseconds, down to SCHEMA_CHECK_MS_MIN for each. */
export const SCHEMA_CHECKS_MS_MAX = 2_000;
/** Longest start of the other thread, in milliseconds. A check that waited for it counts as one that took too long. */
export const SCHEMA_THREAD_START_MS_MAX = 10_000;
/** Largest heap of the other thread, in MiB. A check that needs more counts as one that took too long. */
export const SCHEMA_THREAD_MIB_MAX = 256;
/** The shortest such time of one schema, in milliseconds: it halves each time a check reaches it, down to this. */
export const SCHEMA_CHECK_MS_MIN = 50;
/**
 * Tool packages whose parsed parts sessions share in memory. Beyond it the oldest is dropped and parsed again on use.
 */
export const PACKAGES_SHARED_MAX = 16;
/** Definitions of tools that an engine remembers as ones whose schemas compile. Beyond it they are all compiled again. */
export const DEFINITIONS_KEPT = 8_192;
/** Effective tool sets cached for one registry. Beyond it the oldest is dropped and computed again on use. */
export const EFFECTIVE_SETS_KEPT = 8;
/** Most profiles of a tool package. A package with more is refused as `invalid_shape`. */
export const PROFILES_MAX = 64;
/** Longest tool description, in UTF-16 units. A longer one is refused as `invalid_shape`. */
export const DESCRIPTION_CHARS_MAX = 8_192;
/**
 * Most capabilities in the runtime context, and most availability rules and named effects of a tool. More are refused as
 * `invalid_shape`.
 */
export const CAPABILITIES_MAX = 64;

/** Longest time limit that can be set for an answer by a person, in milliseconds. */
export const APPROVAL_TTL_MS_MAX = 366 * 86_400_000;
/**
 * Most calls that interrupts have left running and whose reports have not arrived. Beyond it an interrupt waits for its
 * calls.
 */
export const DETACHED_MAX = 64;
/** Most grants of a session. A further one is refused as `grants_full`. */
export const GRANTS_MAX = 256;
/** Most steps that the patterns of grants take for the calls of one batch. Beyond it, calls ask a person. */
export const GRANT_STEPS_MAX = 500_000;
/** Longest argument that the pattern of a grant is matched against, in UTF-16 units. A longer one does not match. */
export const GRANT_VALUE_CHARS_MAX = 4_096;
/**
 * Most calls approved with changed arguments that wait for the open batch to end. A further one is refused as
 * `amendment_invalid`.
 */
export const AMENDED_MAX = 16;
/** Most entries in each list of `permissions_describe`. It reports how many more there are. */
export const DESCRIBED_MAX = 24;
/**
 * Most characters of JSON in each list of `permissions_describe`, so that its answer stays inline. It reports how many
 * entries are left out.
 */
export const DESCRIBED_CHARS_MAX = 1_200;
/**
 * Longest read-only alternative in an answer of `permissions_check`, in characters of JSON, so that the answer stays
 * inline. A longer one is left out.
 */
export const ALTERNATIVE_CHARS_MAX = 2_000;

/** Attempts of a generate or a repeatable call, unless the run sets another number. After the last one it fails. */
export const ATTEMPTS_DEFAULT = 4;
/** Most attempts a run can set. */
export const ATTEMPTS_MAX = 100;
/** Wait before the first retry, unless the run sets another, in milliseconds. It doubles with each retry. */
export const RETRY_BASE_MS_DEFAULT = 500;
/** Longest wait before a retry, unless the run sets another, in milliseconds. */
export const RETRY_CAP_MS_DEFAULT = 30_000;
/** Longest wait before a retry that a run can set or a provider can ask for, in milliseconds. */
export const RETRY_CAP_MS_MAX = 86_400_000;
/** Longest wall time of a run that can be set, in milliseconds. */
export const RUN_MS_MAX = 366 * 86_400_000;

/** Turns of a run, unless its config sets another number. A run that needs more fails as `turns_exceeded`. */
export const TURNS_DEFAULT = 100;
/** Most turns a config can set. */
export const TURNS_MAX = 100_000;
/** Calls of a run, unless its config sets another number. A run that makes more fails as `calls_exceeded`. */
export const CALLS_DEFAULT = 2_000;
/** Most calls a config can set. */
export const CALLS_MAX = 10_000_000;
/**
 * The same call this many times in a row is answered instead of run, unless the config sets another number; once more
 * fails the run (docs/design.md, "Settled questions").
 */
export const REPEATS_DEFAULT = 5;
/** Highest number of repeats a config can set. */
export const REPEATS_MAX = 1_000;
/** Calls that a bridge runs at a time for one run, unless its config sets another number (September, "Concurrency"). */
export const CONCURRENCY_DEFAULT = 10;
/** Most calls that a bridge runs at a time. Further calls wait for a free place. */
export const CONCURRENCY_MAX = 256;
/** Most steering messages that wait for the next generate. A further one is refused as `steer_queue_full`. */
export const STEERS_MAX = 16;
/** Most follow-up runs that wait. A further one is refused as `follow_up_queue_full`. */
export const FOLLOW_UPS_MAX = 16;
/** Ended runs kept in state: as many as one event can end. Older ones are only in the stream. */
export const RUN_HISTORY_MAX = FOLLOW_UPS_MAX + 1;

/** Most undos that wait for a bridge. A further one is refused as `undo_queue_full`. */
export const UNDOS_MAX = 16;
/**
 * Characters of events, from the end of the stream backwards, in which the calls are sought that one request asks to undo. A
 * call that has settled before them is refused as `unknown_call`.
 */
export const UNDO_SEARCH_CHARS_MAX = 256 * 1_048_576;
/** Such searches that run at a time in a process. Further ones wait, in order. */
export const UNDO_SEARCHES_TOGETHER = 2;

/** Entries after which the open transcript page is sealed into a blob, when no batch is open. */
export const TRANSCRIPT_PAGE_ENTRIES = 64;
/**
 * Size of the open page, in UTF-16 units of JSON, above which its beginning is sealed. A sealed page takes as many whole
 * turns as fit, and at least one, which the bounds of an event and of the results of a batch keep below the largest blob.
 */
export const TRANSCRIPT_PAGE_CHARS = 1_048_576;
/** Sealed pages in the window of the next generate. Beyond it the oldest leaves the window; its blob stays. */
export const TRANSCRIPT_PAGES_MAX = 64;

/**
 * Time limit of a call, unless its tool sets another, in milliseconds. A call that takes longer is stopped and fails.
 */
export const CALL_TIMEOUT_MS_DEFAULT = 120_000;
/** Longest time limit a tool can set, in milliseconds. */
export const CALL_TIMEOUT_MS_MAX = 3_600_000;
/** Output of one call that the model sees, unless its tool sets another size, in bytes. The rest is cut. */
export const OUTPUT_BYTES_DEFAULT = 30_000;
/** Most output a tool can set, in bytes. */
export const OUTPUT_BYTES_MAX = 1_048_576;

/** Most effects granted by one lease request. The rest stay free for the next request. */
export const LEASE_EFFECTS_MAX = 256;
/**
 * Longest answer to a lease request, in UTF-16 units of JSON, about; but one effect is granted whatever it takes. The rest
 * stay free for the next request.
 */
export const GRANT_CHARS_MAX = 4 * 1_048_576;
/** Duration of a lease without a heartbeat, in milliseconds. Then it expires, and its effect may be granted again. */
export const LEASE_TTL_MS = 15_000;
/**
 * How often bridges may lose the lease on one request to a model: each loss may cost an answer. With the last one the engine
 * reports the request as failed with `bridges_lost`, and the run ends.
 */
export const ANSWERS_LOST_MAX = 8;
/**
 * Kinds of lease requests for which the engine caches the sessions that may have free effects. Beyond it the least
 * recently used is dropped.
 */
export const LEASE_REQUESTS_KEPT = 32;
/** Lease epochs the engine reserves on disk at a time, so that no later engine grants them again. */
export const EPOCHS_RESERVED = 1_048_576;
/** Longest `wait_ms` of a lease request, in milliseconds. A longer one is refused as `invalid_shape`. */
export const LEASE_WAIT_MS_MAX = 25_000;
/**
 * Most requests that wait for one session, and most lease requests that wait in an engine. Further ones are refused as
 * `queue_full`.
 */
export const QUEUE_MAX = 1_024;
/** Journal files open at a time; each is mapped into memory whole. LevelDB closes the least recently used one. */
export const LEVEL_FILES_OPEN_MAX = 64;
/** Size of a journal file, in bytes: half of LevelDB's default, because open files take memory. */
export const LEVEL_FILE_BYTES = 1_048_576;
/** How long ago a table was verified at most, in milliseconds, to be used unread when a journal opens. */
export const TABLE_TRUST_MS_MAX = 86_400_000;
/** Bytes of a table that the check in the background verifies at a time. */
export const TABLE_CHECK_BYTES = 262_144;
/**
 * Events read from the journal at a time, and the rest of the last commit. After each page a load checks the state against
 * its recorded digest.
 */
export const READ_PAGE_EVENTS = 1_000;
/** Bytes of commits read from the journal at a time, or of its entries in a part of a backup: the one that reaches it is the last. */
export const READ_PAGE_BYTES = 1_048_576;
/** How often an answer under a token for some tools is checked again when the session has changed in between. */
export const ADMISSIONS_MAX = 8;
/** Most tokens of an engine. `refold token create` refuses a further one. */
export const TOKENS_MAX = 64;
/** Most pages that have a token of an engine. A further one ends that of the page that was used longest ago. */
export const PAGES_MAX = 64;
/** Most codes for pages that wait to be exchanged. A request for a further one is refused as `queue_full`. */
export const CODES_MAX = 16;
/** How long a code for a page can be exchanged, in milliseconds. */
export const CODE_MS_MAX = 60_000;
/** Entries of the journal, or digests of blobs, in one part of a backup. */
export const BACKUP_ENTRIES = 64;
/** A backup whose reader takes no part for this time is ended, in milliseconds. */
export const BACKUP_UNREAD_MS_MAX = 30_000;
/** Characters of a value of the journal in a backup, which is base64. */
export const BACKUP_VALUE_CHARS_MAX = 268_435_456;
/** How long a stopping engine waits for bridges to report on what they hold, in milliseconds; `serve --drain-ms`. */
export const ENGINE_DRAIN_MS = 10_000;
/** How often it looks meanwhile, in milliseconds. */
export const ENGINE_DRAIN_LOOK_MS = 50;
/** How long a client waits for a session to be deleted, beyond the usual time, in milliseconds. */
export const DELETE_WAIT_MS_MAX = 600_000;
/** Commits that one write removes from a deleted session. */
export const SWEEP_COMMITS = 16;
/** Pages of transcripts that one write deletes, and that one read of their digests returns. */
export const SWEEP_PAGES = 64;
/** Most connections to a server on which no request has named a token yet. Beyond it the oldest of them are closed. */
export const STRANGERS_MAX = 64;
/** Most of them that have come within {@link STRANGER_MS_MIN}: a client may open many connections at once. */
export const STRANGERS_AT_ONCE_MAX = 512;
/** How long such a connection stays at least, so that its first request can be read, in milliseconds. */
export const STRANGER_MS_MIN = 250;
/** Longest life of such a connection, in milliseconds. */
export const STRANGER_MS_MAX = 5_000;
/** Most other connections to a server. Beyond it an idle one is closed, else the request is refused as `queue_full`. */
export const CONNECTIONS_MAX = 512;
/** How many of them only operators may use. */
export const CONNECTIONS_FOR_OPERATORS = 64;
/** Most of them that viewers may use, so that they keep no bridge out. */
export const CONNECTIONS_OF_VIEWERS_MAX = CONNECTIONS_MAX / 2;
/** Most requests of one connection that wait for their answers; with more, it is closed. */
export const REQUESTS_PER_CONNECTION_MAX = 16;
/** Most requests of viewers that are worked on at a time; others wait, so that they keep no operator waiting. */
export const REQUESTS_OF_VIEWERS_MAX = 16;
/**
 * Longest time in which the reader of a response takes nothing of what is ready for it, in milliseconds. Then its
 * connection is closed.
 */
export const STALLED_MS_MAX = 30_000;
/**
 * Most bytes of request bodies and of blobs being sent that a server holds at a time. A further request is refused as
 * `queue_full`.
 */
export const BODIES_BYTES_MAX = 512 * 1_048_576;
/** How many of them only operators may use. */
export const BODIES_BYTES_FOR_OPERATORS = 128 * 1_048_576;
/** Most of them that viewers may use. */
export const BODIES_BYTES_OF_VIEWERS_MAX = 128 * 1_048_576;
/** Most blobs that a server reads at a time in order to send them. Further ones wait. */
export const BODY_READS_MAX = 4;
/** Longest time in which a server reads a request, in milliseconds. Then its connection is closed. */
export const REQUEST_MS_MAX = 30_000;
/** Most lease requests of one server that wait for work at a time. A further one is refused as `queue_full`. */
export const LEASES_WAITING_MAX = 128;
/** Most subscriptions open on one server. A further one is refused as `queue_full`. */
export const SUBSCRIBERS_MAX = 256;
/** Most of them that viewers may use, so that they keep no bridge and no operator out. */
export const SUBSCRIBERS_OF_VIEWERS_MAX = SUBSCRIBERS_MAX / 2;
/** Last commits of which a server keeps what the readers of client streams get, so that it makes it once for all of them. */
export const STREAM_COMMITS_KEPT_MAX = 32;
/** Interval of keep-alive comments to a follower without new events, in milliseconds. */
export const FOLLOW_BEAT_MS = 15_000;
/**
 * Connections of a follower in a row that bring nothing new and a message that it cannot read. Then it throws `internal`, and
 * does not connect again.
 */
export const FOLLOW_UNREADABLE_MAX = 3;
/** How long a bridge collects what a model writes before it posts it, in milliseconds. */
export const DELTA_MS = 20;
/** It posts at once when it has collected so much, in UTF-16 units. */
export const DELTA_CHARS = 4_096;
/** Most parts of one post of deltas. */
export const DELTA_PARTS_MAX = 64;
/** Most characters in one post, and most that an engine keeps of the turn a session is at: what is older is dropped. */
export const DELTAS_CHARS_MAX = 131_072;
/** Most parts that it keeps of that turn: what is older is dropped. A part ends where text changes to thinking, or back. */
export const DELTAS_PARTS_MAX = 1_024;
/** Most characters of one frame of deltas. The rest comes in the next frames. */
export const DELTA_FRAME_CHARS_MAX = 16_384;
/** Most sessions whose deltas an engine keeps; beyond it those of the session that posted longest ago are dropped. */
export const DELTAS_SESSIONS_MAX = 256;
/**
 * Events a follower reads from the journal at a time, and the rest of the last commit, so that a stalled follower holds
 * little memory.
 */
export const FOLLOW_PAGE_EVENTS = 64;
/** Most characters of the last commit of a session that stays in memory, so that its followers need not read the journal. */
export const COMMIT_KEPT_CHARS_MAX = 32_768;
/** Most bytes of requests that wait for one session. Further ones are refused as `queue_full`. */
export const QUEUE_BYTES_MAX = 32 * 1_048_576;
/** Most bytes of requests merged into one append. Further requests go into the next one. */
export const APPEND_BYTES_MAX = 4 * 1_048_576;
/**
 * Most idle sessions kept in memory: those without work for a bridge, also when they wait for a person or a time. Beyond it
 * the least recently used one is evicted, and loaded again on use. Active sessions stay in memory and do not count.
 */
export const IDLE_SESSIONS_MAX = 1_024;
/**
 * Most active sessions in one engine: those that owe a bridge an effect, or of which a bridge holds a running call. All of
 * them are in memory and are loaded when the engine starts. Work in a further session is refused as `too_many_active_sessions`.
 */
export const ACTIVE_SESSIONS_MAX = 16_384;
/** Most idle sessions examined to find one to evict, each time a session is loaded or becomes idle. */
export const IDLE_CHECKS_MAX = 16;
/** Sessions loaded at a time, also when an engine starts. Further loads wait, in order. */
export const LOADED_TOGETHER = 16;
/** Wait before the engine repeats what its storage refused, in milliseconds. */
export const RETRY_MS = 1_000;
/**
 * Most sessions that wait in a time of their own because the clock was set back behind their last event. Beyond it the wait
 * of the oldest ends when the clock has caught up.
 */
export const SESSIONS_AHEAD_MAX = 65_536;
/** Longest sleep of a wake before it reads the clock again, which may have jumped, in milliseconds. */
export const WAKE_CHECK_MS_MAX = 60_000;
/** Time a client waits for an answer, on top of the wait it asked for, in milliseconds. Then the request fails. */
export const REQUEST_TIMEOUT_MS = 60_000;

/** Longest title on the card of a session, in UTF-16 units. A longer input is cut. */
export const CARD_TITLE_CHARS_MAX = 80;
/** Most bytes of a card as JSON; its fields are bounded so that every card fits. */
export const CARD_BYTES_MAX = 512;

/** Most sessions in one page of their list. */
export const SESSIONS_PAGE_MAX = 1_000;
/** Most heads examined for one page. A page with filters may be short, and says where to continue. */
export const SESSIONS_EXAMINED_MAX = 10_000;
/** Sessions whose time has come that are read from the journal at a time. */
export const WAKES_TOGETHER = 256;
/** Sessions that cannot be loaded when their time has come, and that are remembered so as not to be loaded again for it. */
export const WAKES_GIVEN_UP_MAX = 1_024;

// The journal.

/**
 * Most bytes of events in one group commit; a single larger append is still written whole. Further appends wait for the
 * next commit.
 */
export const COMMIT_BYTES_MAX = 8 * 1_048_576;
/** Most appends in one group commit. Further appends wait for the next commit. */
export const COMMIT_REQUESTS_MAX = 1_024;
/** Most bytes of events that wait for a commit. Appends beyond it are refused as `queue_full`. */
export const COMMIT_WAITING_BYTES_MAX = 64 * 1_048_576;
/** Sessions whose version is cached. The version of any other is read from the store. */
export const HEADS_CACHED_MAX = 65_536;
/** Event ids cached, of all sessions created since the journal was opened. Any other is looked up in the store. */
export const EVENT_IDS_CACHED_MAX = 65_536;
/** Most bytes that one step of a scan fetches from the store. */
export const SCAN_BYTES_MAX = 1_048_576;
/** Events after which a session gets its next snapshot, so that a load folds few events. */
export const SNAPSHOT_EVERY_EVENTS = 128;
/** Characters of events after which a session gets its next snapshot, however few events they are. */
export const SNAPSHOT_EVERY_CHARS = 4 * 1_048_576;
/**
 * A snapshot waits until the events since the last one have 1/n of its size, so that a large state is written seldom.
 */
export const SNAPSHOT_SIZE_SHARE = 4;
/**
 * Largest state kept as a snapshot, in characters; encoding it takes the event loop about 40 ms. A larger state gets
 * none.
 */
export const SNAPSHOT_CHARS_MAX = 2 * 1_048_576;
/** Snapshots kept of one session. Older ones are deleted. */
export const SNAPSHOTS_KEPT = 2;
/** Most sessions that wait for a snapshot. Beyond it the longest waiting gets none. */
export const SNAPSHOTS_WAITING_MAX = 1_024;
/** Wait of a snapshot after the append that made it due, in milliseconds, so that the append is answered first. */
export const SNAPSHOT_DELAY_MS = 20;
/** Torn last writes kept on record. Older ones are forgotten. */
export const TORN_TAILS_KEPT = 64;
/** Most sessions of one journal recorded as damaged. With more the journal does not open. */
export const DAMAGED_SESSIONS_MAX = 100_000;
/** Bytes in one write while a damaged journal is rebuilt. */
export const REBUILD_WRITE_BYTES = 1_048_576;
/** Bytes after which a rebuild reports its progress. */
export const REBUILD_REPORT_BYTES = 64 * 1_048_576;
/** How long an unreferenced blob is kept after it was last put, in milliseconds, because a reference may follow. */
export const GC_GRACE_MS = 24 * 3_600_000;
/** Most files the blob store has open at a time. Further operations wait. */
export const FILES_OPEN_MAX = 16;

// Audit.

/** Most sessions in one checkpoint. A checkpoint of more is refused as `invalid_shape`. */
export const CHECKPOINT_SESSIONS_MAX = 100_000;
/** Most digests on the path from a leaf to the root of the largest checkpoint. A longer proof is refused. */
export const PROOF_STEPS_MAX = 17;
/** Largest checkpoint, key, registry or policy file that is read, in bytes. A larger one is refused. */
export const AUDIT_FILE_BYTES_MAX = 64 * 1_048_576;

/** Most breaches of laws that the check of one stream keeps. Further ones are counted. */
export const LAW_BREACHES_MAX = 1_000;

// The bridge and its providers.

/** Most leases one bridge holds, so that one heartbeat can name them. At this number it asks for no more. */
export const LEASES_HELD_MAX = 4 * LEASE_EFFECTS_MAX;

/**
 * Fewest effects a report asks for with its submit, when it may continue a turn: a generate and what a person added.
 */
export const SUBMIT_GRANT_EFFECTS_MIN = 4;

/** Shortest wait before a request to the engine is repeated, in milliseconds. It doubles with each failure. */
export const BACKOFF_MS_BASE = 100;
/** Longest wait before a request to the engine is repeated, in milliseconds. */
export const BACKOFF_MS_MAX = 5_000;

/**
 * How long a stopped call may take to end, in milliseconds; longer than a command needs from SIGTERM to SIGKILL. Then
 * the bridge reports without it.
 */
export const CALL_GRACE_MS = 4_500;
/** How long a stopping bridge waits for its running work, in milliseconds. Then it ends without it. */
export const STOP_GRACE_MS = 2_000;
/** How long a stopping bridge waits for the release of its leases, in milliseconds. Then they expire. */
export const RELEASE_MS_MAX = 500;

/** Longest line of a ledger of a bridge, in UTF-16 units. A settlement with a longer line is not written to it. */
export const LEDGER_LINE_CHARS_MAX = 65_536;
/** Size at which a ledger is rewritten with its open entries only, in bytes; at least twice their size. */
export const LEDGER_BYTES_MAX = 1_048_576;
/** Most bytes read of one ledger. The rest is ignored. */
export const LEDGER_FILE_BYTES_MAX = 64 * 1_048_576;
/** Most ledgers of ended bridges that a starting bridge takes over. The rest stay for the next start. */
export const LEDGERS_CLAIMED_MAX = 64;

/**
 * Interval at which a bridge asks the engine about the calls of other bridges for which its calls wait, in milliseconds.
 */
export const WATCH_EVERY_MS = 500;

/** Most attachments that go to a model with one request: the newest. The text of a message names those that are left out. */
export const REQUEST_FILES_MAX = 64;
/** Most bytes of the attachments of one request; in base64 they take a third more. Older ones are left out the same way. */
export const REQUEST_FILE_BYTES_MAX = 20 * 1_048_576;
/** Attachments of which a bridge remembers whether they hold a secret. Beyond it all are forgotten, and searched again. */
export const SEARCHED_FILES_MAX = 1_024;
/** Most events in one submit of a bridge. Further ones go into the next. */
export const REPORT_EVENTS_MAX = 64;
/**
 * Most JSON characters in one submit of a bridge; at three bytes a character they fit one body. Further events go into
 * the next submit.
 */
export const REPORT_CHARS_MAX = Math.floor(BODY_BYTES_MAX / 4);
/** Most bytes of JSON of all calls in one reply. Beyond it the largest arguments are cut, then the generate fails. */
export const OBSERVED_BYTES_MAX = BODY_BYTES_MAX - 65_536;
/**
 * Most commas and brackets in an imported event, without its claims: those of a request, and as many for what the edge
 * adds. A file with a larger event is refused as `too_large`.
 */
export const EVENT_VALUES_MAX = 2 * BODY_VALUES_MAX;
/** Most commas and brackets in the JSON of all calls in one reply. Beyond it, arguments are sent as text. */
export const OBSERVED_VALUES_MAX = BODY_VALUES_MAX - 1_024;
/** Characters kept of arguments that are cut, in UTF-16 units. */
export const CUT_ARGUMENTS_CHARS = 256;

/** Longest structured data in a result, in characters of JSON. Longer data is a blob beside it. */
export const RESULT_DATA_CHARS_MAX = 4_096;
/** Longest message of a failure, in UTF-16 units. A longer one is cut. */
export const MESSAGE_CHARS_MAX = 1_024;

/** Sessions whose last batch a bridge keeps in memory after its calls have left. Idle ones beyond it are dropped. */
export const BATCHES_REMEMBERED_MAX = 256;
/** Most blob bytes cached for the next generate. Beyond it the least recently used are dropped. */
export const BLOB_CACHE_BYTES_MAX = 32 * 1_048_576;

/** Largest reply of a model, in bytes on the wire. A larger one fails the generate. */
export const REPLY_BYTES_MAX = 16 * 1_048_576;
/** Most commas and brackets in one JSON text of a reply: an event, or the whole body. More fail the generate. */
export const REPLY_VALUES_MAX = 131_072;
/** Most commas and brackets in all events of a streamed reply together, some eight bytes for each. More fail the generate. */
export const REPLY_VALUES_SUM_MAX = 2_097_152;
/** Levels of arrays and objects in a reply of a model. A deeper one fails the attempt. */
export const REPLY_DEPTH_MAX = 1_000;
/**
 * Bytes of a model's reply that are decoded, and characters of one of its events or of its body that are parsed, before other work
 * of the process runs.
 */
export const STREAM_SLICE_BYTES = 65_536;
/** Bytes read of an error response of a model server. The rest is ignored. */
export const ERROR_BYTES_MAX = 65_536;
/**
 * Longest silence of a model server, unless another is set, in milliseconds. Then the generate fails and may be
 * retried.
 */
export const PROVIDER_SILENCE_MS_DEFAULT = 180_000;
/** Largest recording of a model, in bytes. The bridge refuses a larger one. */
export const RECORDING_BYTES_MAX = 64 * 1_048_576;
/** Bytes of a response, and characters of a text, in which secrets are looked for before other work of the process runs. */
export const REDACT_SLICE_BYTES = 131_072;
/** Shortest secret that is replaced in outputs, in UTF-16 units. A shorter one is not: ordinary text may contain it. */
export const SECRET_CHARS_MIN = 16;
/** Largest object of secrets on standard input, in bytes. The bridge refuses a larger one. */
export const SECRETS_BYTES_MAX = 65_536;

// The host tools. Sizes are bytes unless the name says otherwise.

/** Longest path argument, in UTF-16 units (PATH_MAX of Linux). A longer one is refused. */
export const PATH_CHARS_MAX = 4_096;
/** Longest single name in a path, in bytes (NAME_MAX of Linux). A longer one is refused. */
export const NAME_BYTES_MAX = 255;
/**
 * Most names in a path; it bounds the descriptors and the stack of a walk. Deeper paths are refused, and walks skip
 * them.
 */
export const PATH_DEPTH_MAX = 64;

/**
 * Largest file that is edited, patched or searched, in bytes. Larger ones are refused or skipped; a read of a window has
 * no such bound.
 */
export const FILE_BYTES_MAX = 16 * 1_048_576;
/** Most matches of one edit. An edit with more is refused as `too_many_matches`. */
export const EDIT_MATCHES_MAX = 100_000;
/** Smallest output size that is honoured, in bytes; less leaves no room to say what was left out. */
export const OUTPUT_BYTES_MIN = 1_024;

/** Entries in a listing or a search, unless the call asks for another number. The result says that there are more. */
export const RESULTS_DEFAULT = 100;
/** Most entries a listing or a search can ask for. */
export const RESULTS_MAX = 10_000;
/** Most files and directories that one search visits. The result says that it stopped there. */
export const TREE_ENTRIES_MAX = 200_000;
/** Directories a search reads before it yields to other work of the process. */
export const TREE_YIELD_EVERY = 64;
/** Longest line in the output of a search, in UTF-16 units. The rest of the line is cut. */
export const LINE_CHARS_MAX = 500;
/** Size of the prefix that is searched for a NUL byte, in bytes. With one the file is binary, and grep skips it. */
export const BINARY_PROBE_BYTES = 8_192;
/** Most bytes in one message to the matching thread. */
export const GREP_BATCH_BYTES = 1_048_576;
/** Most files in one message to the matching thread. */
export const GREP_BATCH_FILES = 64;
/** Longest pattern of grep and glob, in UTF-16 units. A longer one is refused. */
export const PATTERN_CHARS_MAX = 4_096;
/** Most alternatives that the braces of a glob expand to. More are refused. */
export const GLOB_ALTERNATIVES_MAX = 256;

/** Most files one call may change and still be undone. With more, none of its changes are recorded. */
export const CHANGES_PER_CALL_MAX = 128;
/**
 * Most characters of the paths of all changes of one call, as JSON, so that a settlement fits a line of the ledger. With
 * more, none of its changes are recorded.
 */
export const CHANGES_CHARS_MAX = 12_288;
/** Largest file whose bytes are kept before a change, in bytes. A change of a larger one cannot be undone. */
export const PREIMAGE_BYTES_MAX = 4 * 1_048_576;
/** Most bytes kept for one call. Changes beyond it cannot be undone. */
export const PREIMAGES_BYTES_MAX = 32 * 1_048_576;
/** Time limit of an undo, in milliseconds. Then it fails. */
export const UNDO_TIMEOUT_MS = 120_000;

/** Longest shell command that is checked for a read-only alternative, in UTF-16 units. A longer one has none. */
export const SHELL_LINE_CHARS_MAX = 8_192;
/** Most lines from the start of a file that a read is recommended for. A command for more has no alternative. */
export const SHELL_LINES_MAX = 1_000;

/** Most lines in the preview of a call that a person sees. It says how many are left out. */
export const PREVIEW_LINES_MAX = 200;
/** Longest line of a preview, in UTF-16 units. The rest is cut. */
export const PREVIEW_LINE_CHARS_MAX = 400;
/** Most characters in a preview, in UTF-16 units. It says how many lines are left out. */
export const PREVIEW_CHARS_MAX = 32_768;
/** Unchanged lines around each change in a preview. */
export const PREVIEW_CONTEXT_LINES = 3;
/** Longest file that is compared for a preview, in UTF-16 units. A longer one has no comparison. */
export const PREVIEW_FILE_CHARS_MAX = 2 * 1_048_576;
/** Most changed lines a comparison looks for. Beyond it the preview has no comparison. */
export const PREVIEW_CHANGES_MAX = 500;
/**
 * How long a call that waits for a person may get its preview from a bridge, in milliseconds; then it has none. The fold reads
 * it: another value needs a new rule set.
 */
export const PREVIEW_MS = 30_000;
/** Largest file that a host makes a preview of, in bytes. A call that would change a larger one has none. */
export const PREVIEW_FILE_BYTES_MAX = 4 * 1_048_576;
/** How long a bridge works on one preview, in milliseconds. Then it reports that there is none. */
export const PREVIEW_WORK_MS_MAX = 10_000;
/** Most files of one preview. A call that would change more has none. */
export const PREVIEW_FILES_MAX = 64;
/** Most characters of the paths of all files of one preview, in UTF-16 units. A call with more has none. */
export const PREVIEW_PATHS_CHARS_MAX = 8_192;
/** Largest diff of a recorded preview, in bytes: that of a preview of the most characters. A larger one is refused. */
export const PREVIEW_DIFF_BYTES_MAX = 3 * PREVIEW_CHARS_MAX;
/** The longest time that the comparisons for one preview take in a bridge, in milliseconds. Then files are shown uncompared. */
export const PREVIEW_DIFF_MS_MAX = 100;
/** How long a terminal waits for the preview of a call before it asks about it, in milliseconds. */
export const PREVIEW_SHOWN_WITHIN_MS = 1_000;
/** The longest time that the comparison for a preview takes, in milliseconds. */
export const PREVIEW_COMPARE_MS_MAX = 1_000;

/** Most file operations in one patch: as many files as one call may change and be undone. A patch with more is refused. */
export const PATCH_OPERATIONS_MAX = 128;
/** Longest patch, in UTF-16 units. A longer one is refused. */
export const PATCH_CHARS_MAX = 1_048_576;
/** Largest file that a patch updates, deletes or moves, in bytes, so that it can be undone. A larger one is refused. */
export const PATCH_FILE_BYTES_MAX = 4 * 1_048_576;
/** Most bytes that one patch reads. A patch that needs more is refused. */
export const PATCH_READ_BYTES_MAX = 4 * PATCH_FILE_BYTES_MAX;
/** Most lines of all the files that one patch updates. A patch of more is refused. */
export const PATCH_LINES_MAX = 100_000;
/** Most lines that one patch compares to find its hunks. A patch that needs more is refused. */
export const PATCH_COMPARED_MAX = 1_000_000;
/** Most hunks of one file operation in a patch. More are refused. */
export const PATCH_HUNKS_MAX = 1_024;

/** Most arguments of a command. More are refused. */
export const ARGV_MAX = 1_024;
/** Most bytes of all arguments of a command. More are refused. */
export const ARGV_BYTES_MAX = 131_072;
/** Most variables a call adds to the environment. More are refused. */
export const ENV_MAX = 128;
/** Most bytes of the variables a call adds. More are refused. */
export const ENV_BYTES_MAX = 65_536;
/** Most sessions whose host session one bridge remembers. The one that was used least recently is forgotten first. */
export const HOST_SESSIONS_MAX = 4_096;
/** Fewest entries of an open page that is sealed early so that a conversation above its mark is compacted. */
export const COMPACT_ENTRIES_MIN = 8;
/** Longest text, arguments or result in a request for a summary, in UTF-16 units. Of a longer one, the middle is left out. */
export const COMPACT_TEXT_CHARS = 8_192;
/** Most requests for one summary. Each further one, when the model cannot take the last, has an eighth of the text. */
export const COMPACT_REQUESTS_MAX = 3;
/** Largest layout of a turn, as JSON, in bytes. A larger one is dropped and logged; text and calls stay. */
export const LAYOUT_BYTES_MAX = 4 * 1_048_576;
/** Largest package.json that is searched for a program named refold, in bytes; a larger one counts as one that has it. */
export const MANIFEST_BYTES_MAX = 1_048_576;
/** Most moved git directories that the result of a command names. */
export const GIT_NOTES_MAX = 8;
/** Most git directories of a workspace that a sandbox shows read-only. With more, no command runs in a sandbox. */
export const GIT_ENTRIES_MAX = 1_024;
/** Most files and directories that one search for git directories visits. The result of the command says that it stopped. */
export const GIT_SCAN_ENTRIES_MAX = 1_000_000;
/** Most commands that run at a time in one bridge. Further ones fail and may be repeated. */
export const COMMANDS_RUNNING_MAX = 64;
/** Most attempts, for one command, to start the process that ends commands together with their bridge. */
export const KEEPER_STARTS_MAX = 3;
/** Longest run time of a command, even when the call asks for more, in milliseconds. Then it is stopped. */
export const EXEC_TIMEOUT_MS_MAX = 600_000;
/** Time from SIGTERM to SIGKILL, in milliseconds (docs/design.md, "Safety"). */
export const TERM_GRACE_MS = 2_000;
/** Longest time from SIGTERM to SIGKILL that a call can ask for, in milliseconds. */
export const TERM_GRACE_MS_MAX = 30_000;
/** Wait for further output after a command ended, while another process still holds its pipes, in milliseconds. */
export const DRAIN_MS = 250;
/** Longest wait for further output, while data still arrives, in milliseconds. Then the pipes are closed. */
export const DRAIN_MS_MAX = 2_000;
/** Bytes kept in memory from the start of an output. */
export const HEAD_BYTES = 65_536;
/** Bytes kept in memory from the end of an output. */
export const TAIL_BYTES = 65_536;
/** Most bytes of an output kept in a file. The rest is dropped, and the result says so. */
export const SPILL_BYTES_MAX = 16 * 1_048_576;
/** Interval at which a running command reports new output, in milliseconds. */
export const PROGRESS_EVERY_MS = 1_000;
/** Most bytes of output in one such report: the newest. */
export const PROGRESS_BYTES_MAX = 4_096;
/** How often a sandbox is asked whether everything is mounted in it, in milliseconds. */
export const SANDBOX_POLL_MS = 1;
/** Longest probe of the sandbox, in milliseconds. Then the sandbox counts as not available. */
export const PROBE_MS_MAX = 5_000;

/** Longest lifetime of a host session that a call can ask for, in milliseconds. */
export const SESSION_TTL_MS_MAX = 366 * 86_400_000;

// The test kit.
