// Every bound of the system, named once. A limit that is not in this file does not exist.

/** Deepest nesting of a JSON value that may enter (DESIGN section 5). */
export const JSON_DEPTH_MAX = 64;
/** Most values (containers and leaves) one JSON document may hold. */
export const JSON_NODES_MAX = 1_000_000;
/** Largest HTTP request body, and largest JSON document the engine reads, in bytes. */
export const BODY_BYTES_MAX = 1_048_576;
/** Most submits that travel in one HTTP request. */
export const SUBMITS_TOGETHER_MAX = 256;
/** Largest blob, in bytes. */
export const BLOB_BYTES_MAX = 64 * 1_048_576;
/** Text and arguments up to this many UTF-16 units stay inside events and state; larger ones become blobs. */
export const INLINE_CHARS_MAX = 4_096;
/** What a blob reference repeats of the start and of the end of its text, in UTF-16 units. */
export const EXCERPT_CHARS = 512;

/** Longest event that is recorded, in UTF-16 units of its canonical text: as bytes it fits a line that is read. */
export const EVENT_CHARS_MAX = 20 * 1_048_576;
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
/** Longest that one value is held against a schema whose keywords can take long, in milliseconds; tried twice. */
export const SCHEMA_CHECK_MS_MAX = 100;
/** The same for a schema with which that has happened before. */
export const SCHEMA_CHECK_MS_MIN = 10;
/** Tool packages whose parts sessions share in memory. */
export const PACKAGES_SHARED_MAX = 16;
/** Effective tool sets of one registry that are remembered: what runs and sessions ask for over and over. */
export const EFFECTIVE_SETS_KEPT = 8;
/** Most profiles beside a registry. */
export const PROFILES_MAX = 64;
/** Longest tool description, in UTF-16 units. */
export const DESCRIPTION_CHARS_MAX = 8_192;
/** Most capability facts in the runtime context. */
export const CAPABILITIES_MAX = 64;

/** Longest time a question to a person may stay open, in milliseconds. */
export const APPROVAL_TTL_MS_MAX = 366 * 86_400_000;
/** Calls that an interrupt left running and that have not reported yet; beyond it a run waits for them. */
export const DETACHED_MAX = 64;
/** Grants a session remembers. */
export const GRANTS_MAX = 256;
/** Longest argument a grant's pattern is held against, in UTF-16 units. */
export const GRANT_VALUE_CHARS_MAX = 4_096;
/** Calls that a person approved with changed arguments and that wait for their turn. */
export const AMENDED_MAX = 16;
/** Most tools and pending questions that `permissions_describe` lists; it says how many more there are. */
export const DESCRIBED_MAX = 24;
/** Most characters of each of its lists, so that the three of them and the policy stay inline. */
export const DESCRIBED_CHARS_MAX = 1_200;
/** Longest safer call that `permissions_check` names, as JSON; so that its answer stays inline. */
export const ALTERNATIVE_CHARS_MAX = 2_000;

/** How often a generate or a repeatable call may be tried unless the run says otherwise, and the waits between. */
export const ATTEMPTS_DEFAULT = 4;
export const ATTEMPTS_MAX = 100;
export const RETRY_BASE_MS_DEFAULT = 500;
export const RETRY_CAP_MS_DEFAULT = 30_000;
export const RETRY_CAP_MS_MAX = 86_400_000;
/** Longest wall time of a run that may be set, in milliseconds. */
export const RUN_MS_MAX = 366 * 86_400_000;

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

/** Undos that may wait for a bridge. */
export const UNDOS_MAX = 16;

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
/** Kinds of lease requests for which the engine remembers where nothing was free. */
export const LEASE_REQUESTS_KEPT = 32;
/** Epochs of leases that the engine puts aside at a time, so that no later engine hands them out again. */
export const EPOCHS_RESERVED = 1_048_576;
/** Longest wait of one lease request, in milliseconds. */
export const LEASE_WAIT_MS_MAX = 25_000;
/** Requests that may wait in one session's queue. */
export const QUEUE_MAX = 1_024;
/** Files of the journal that are open at a time. Each is mapped into memory as a whole. */
export const LEVEL_FILES_OPEN_MAX = 64;
/** Bytes of a file of the journal: half of LevelDB's default, because so many of them are memory. */
export const LEVEL_FILE_BYTES = 1_048_576;
/** Records read from the journal at a time. After each page a load holds the state against its recorded digest. */
export const READ_PAGE_RECORDS = 1_000;
/** Subscriptions open at a time on one server. */
export const SUBSCRIBERS_MAX = 256;
/** How often a follower with nothing to read hears that the engine is there, in milliseconds. */
export const FOLLOW_BEAT_MS = 15_000;
/** Events a follower reads from the journal at a time, so that a stalled one holds little. */
export const FOLLOW_PAGE_RECORDS = 64;
/** Bytes of requests that may wait in one session's queue. */
export const QUEUE_BYTES_MAX = 32 * 1_048_576;
/** Bytes of requests that one append merges. */
export const APPEND_BYTES_MAX = 4 * 1_048_576;
/**
 * Sessions kept in memory while nothing is owed to them; the least recently used beyond it are loaded again when asked
 * for. A session that is owed something stays in memory, and does not count.
 */
export const LIVE_SESSIONS_MAX = 1_024;
/**
 * Sessions at work in one engine: with a run that is not over, an undo that waits, or calls that go on. All of them are in
 * memory, and all are loaded when it starts, so that there must be an end to them.
 */
export const AT_WORK_MAX = 16_384;
/** Sessions at rest that are looked at for one to put aside, whenever one is loaded or comes to rest. */
export const REST_LOOKS_MAX = 16;
/** Sessions that are loaded at a time when an engine starts. */
export const LOADED_TOGETHER = 16;
/** How long the engine waits before it tries again what its storage did not take, in milliseconds. */
export const RETRY_MS = 1_000;
/** Longest time a wake sleeps before it looks at the clock again, which may have jumped meanwhile, in milliseconds. */
export const WAKE_CHECK_MS_MAX = 60_000;
/** How long a client waits for the answer to a request, beyond the wait it asked for, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 60_000;

// The journal.

/** Most bytes of events one group commit writes at once (a single larger append is still written whole). */
export const COMMIT_BYTES_MAX = 8 * 1_048_576;
/** Most appends one group commit merges. */
export const COMMIT_REQUESTS_MAX = 1_024;
/** Most bytes of events that may wait for a commit; appends beyond it are refused as `queue_full`. */
export const COMMIT_WAITING_BYTES_MAX = 64 * 1_048_576;
/** Sessions whose version is kept in memory; the version of any other is read when it is needed. */
export const HEADS_CACHED_MAX = 65_536;
/** Event ids kept in memory, over all sessions that were created since the journal was opened; any other is looked up. */
export const EVENT_IDS_CACHED_MAX = 65_536;
/** Most bytes one step of a scan fetches from the store. */
export const SCAN_BYTES_MAX = 1_048_576;
/** Events after which a session gets its next snapshot: what a load folds at most, while its state is of usual size. */
export const SNAPSHOT_EVERY_EVENTS = 128;
/** Characters of events after which it gets one, however few events they are. */
export const SNAPSHOT_EVERY_CHARS = 4 * 1_048_576;
/** A snapshot waits until the events since the last one have 1/n of its size, so that a large state is not written for every few events. */
export const SNAPSHOT_SIZE_SHARE = 4;
/** Largest state that is kept as a snapshot, in characters; making one of it holds the event loop for some 40 ms. */
export const SNAPSHOT_CHARS_MAX = 2 * 1_048_576;
/** Snapshots kept of one session. */
export const SNAPSHOTS_KEPT = 2;
/** Sessions that may wait for a snapshot; the one that waited longest goes without. */
export const SNAPSHOTS_WAITING_MAX = 1_024;
/** How long a snapshot waits after the append that made it due, in milliseconds, so that the append is answered first. */
export const SNAPSHOT_DELAY_MS = 20;
/** Torn last writes of a journal that are kept on record. */
export const TORN_TAILS_KEPT = 64;
/** Sessions of one journal that may be on record as damaged; with more of them it is not opened. */
export const DAMAGED_SESSIONS_MAX = 100_000;
/** Bytes that one write holds when a damaged journal is rebuilt, and after how many of them progress is told. */
export const REBUILD_WRITE_BYTES = 1_048_576;
export const REBUILD_TOLD_BYTES = 64 * 1_048_576;
/** How long a blob that nothing refers to is kept after it was last put: somebody may be about to refer to it. */
export const GC_GRACE_MS = 24 * 3_600_000;
/** Most files the blob store has open at a time. */
export const FILES_OPEN_MAX = 16;

// Audit.

/** Most sessions one checkpoint stands for, and most digests on the way from a leaf to the root of so many. */
export const CHECKPOINT_SESSIONS_MAX = 100_000;
export const PROOF_STEPS_MAX = 17;
/** Largest checkpoint, key or registry file that is read, in bytes. */
export const AUDIT_FILE_BYTES_MAX = 64 * 1_048_576;

// The bridge and its providers.

/** Leases one bridge holds at a time: what one heartbeat can name. */
export const LEASES_HELD_MAX = 4 * LEASE_EFFECTS_MAX;

/** What a report that makes a turn go on asks for besides, at least: a generate, and what a person has added. */
export const SUBMIT_GRANT_EFFECTS_MIN = 4;

/** First and longest wait before a request to the engine is made again. */
export const BACKOFF_MS_BASE = 100;
export const BACKOFF_MS_MAX = 5_000;

/** How long a stopped call may take before nobody waits for it; longer than a command from SIGTERM to SIGKILL. */
export const CALL_GRACE_MS = 4_500;
/** How long a bridge that was told to stop waits for what it runs, and for giving its leases back. */
export const STOP_GRACE_MS = 2_000;
export const RELEASE_MS_MAX = 500;

/** Longest line of a bridge's ledger, in UTF-16 units; a settlement that makes a longer one is not noted. */
export const LEDGER_LINE_CHARS_MAX = 65_536;
/** A ledger that has grown to this many bytes, and to twice what is still open in it, is written anew. */
export const LEDGER_BYTES_MAX = 1_048_576;
/** What is read of one ledger, in bytes. */
export const LEDGER_FILE_BYTES_MAX = 64 * 1_048_576;
/** Ledgers of bridges that died which one start of a bridge takes over. */
export const LEDGERS_CLAIMED_MAX = 64;

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
/** Largest recording, in bytes. */
export const RECORDING_BYTES_MAX = 64 * 1_048_576;
/** Largest object of secrets on standard input, in bytes. */
export const SECRETS_BYTES_MAX = 65_536;

// The host tools. Sizes are bytes unless the name says otherwise.

/** Longest path argument, in UTF-16 units, and longest single name, in bytes (both as Linux has them). */
export const PATH_CHARS_MAX = 4_096;
export const NAME_BYTES_MAX = 255;
/** Most directories between the workspace and a file. It bounds the descriptors and the stack of a walk. */
export const PATH_DEPTH_MAX = 64;

/** Largest file that is edited, patched or searched as a whole; reads of a window have no such bound. */
export const FILE_BYTES_MAX = 16 * 1_048_576;
/** Most places one edit may match. */
export const EDIT_MATCHES_MAX = 100_000;
/** Smallest output budget that is honoured; less leaves no room to say what was left out. */
export const OUTPUT_BYTES_MIN = 1_024;

/** Entries that a listing or a search shows unless told otherwise, and at most. */
export const RESULTS_DEFAULT = 100;
export const RESULTS_MAX = 10_000;
/** Most files and directories one search visits. */
export const TREE_ENTRIES_MAX = 200_000;
/** Directories a search reads before it lets other work of the process run. */
export const TREE_YIELD_EVERY = 64;
/** Longest line a search prints, in UTF-16 units. */
export const LINE_CHARS_MAX = 500;
/** A NUL byte in this prefix makes a file binary, and so invisible to grep. */
export const BINARY_PROBE_BYTES = 8_192;
/** What is matched per message to the matching thread. */
export const GREP_BATCH_BYTES = 1_048_576;
export const GREP_BATCH_FILES = 64;
/** Below this many files a prefilter process costs more than it saves. */
export const PREFILTER_FILES_MIN = 256;
/** Longest pattern of grep and glob, in UTF-16 units, and most alternatives its braces may expand to. */
export const PATTERN_CHARS_MAX = 4_096;
export const GLOB_ALTERNATIVES_MAX = 256;

/**
 * Most files one call may change and still be undone, and most characters of their paths in all, as JSON: a settlement
 * with all of them fits a line of a bridge's ledger.
 */
export const CHANGES_PER_CALL_MAX = 128;
export const CHANGES_CHARS_MAX = 12_288;
/** Largest file whose bytes are kept before it is changed, and most bytes kept for one call. */
export const PREIMAGE_BYTES_MAX = 4 * 1_048_576;
export const PREIMAGES_BYTES_MAX = 32 * 1_048_576;
/** How long putting files back may take. */
export const UNDO_TIMEOUT_MS = 120_000;

/** Longest shell command that is looked at for a read-only alternative, in UTF-16 units. */
export const SHELL_LINE_CHARS_MAX = 8_192;
/** Lines from the start of a file that a read of it surely shows, or says how to read on to. */
export const SHELL_LINES_MAX = 1_000;

/** What a person sees of a call before it runs: lines, characters of one line, and of all of them. */
export const PREVIEW_LINES_MAX = 200;
export const PREVIEW_LINE_CHARS_MAX = 400;
export const PREVIEW_CHARS_MAX = 32_768;
/** Unchanged lines around each change of a preview. */
export const PREVIEW_CONTEXT_LINES = 3;
/** Longest file that is compared for a preview, in UTF-16 units, and most changed lines the comparison looks for. */
export const PREVIEW_FILE_CHARS_MAX = 2 * 1_048_576;
export const PREVIEW_CHANGES_MAX = 500;
/** The longest time that the comparison for a preview takes, in milliseconds. */
export const PREVIEW_COMPARE_MS_MAX = 1_000;

/** Most operations and hunks one patch may hold. */
export const PATCH_OPERATIONS_MAX = 1_024;
export const PATCH_HUNKS_MAX = 4_096;

/** Most arguments of a command, and most bytes of all of them. */
export const ARGV_MAX = 1_024;
export const ARGV_BYTES_MAX = 131_072;
/** Most variables a call may add to the environment, and most bytes of all of them. */
export const ENV_MAX = 128;
export const ENV_BYTES_MAX = 65_536;
/** Most commands that run at a time. */
export const COMMANDS_RUNNING_MAX = 64;
/** Most tries to start what ends commands together with their bridge, for one command. */
export const KEEPER_STARTS_MAX = 3;
/** Longest a command may run, whatever was asked. */
export const EXEC_TIMEOUT_MS_MAX = 600_000;
/** From SIGTERM to SIGKILL (DESIGN section 7). */
export const TERM_GRACE_MS = 2_000;
export const TERM_GRACE_MS_MAX = 30_000;
/** From the end of a command to closing pipes that something else still holds, and at most while data arrives. */
export const DRAIN_MS = 250;
export const DRAIN_MS_MAX = 2_000;
/** What is kept of each end of an output, and what is kept of it in a file. */
export const HEAD_BYTES = 65_536;
export const TAIL_BYTES = 65_536;
export const SPILL_BYTES_MAX = 16 * 1_048_576;
/** A running command reports what is new this often, and at most this much. */
export const PROGRESS_EVERY_MS = 1_000;
export const PROGRESS_BYTES_MAX = 4_096;
/** Longest the probe of a sandbox may take. */
export const PROBE_MS_MAX = 5_000;

/** What the kernel holds a command to, through prlimit(1). */
export const COMMAND_PROCESSES_MAX = 1_024;
export const COMMAND_CPU_SECONDS_MAX = 1_200;
export const COMMAND_FILES_OPEN_MAX = 4_096;
export const COMMAND_FILE_BYTES_MAX = 1_073_741_824;
/** Writable memory. Address space is not limited: runtimes reserve far more of it than they ever touch. */
export const COMMAND_MEMORY_BYTES_MAX = 4_294_967_296;
/** The private /tmp of a sandboxed command. */
export const COMMAND_TMP_BYTES_MAX = 268_435_456;

/** Longest life of a host session that may be asked for. */
export const SESSION_TTL_MS_MAX = 366 * 86_400_000;

// The test kit.

/** Most timers that ring in one simulation: beyond it something goes round in circles. */
export const SIM_TIMERS_MAX = 50_000;
/** How long a simulated world is given to come to its end once nothing goes wrong any more, in milliseconds. */
export const SIM_PATIENCE_MS = 900_000;
/** Most scenarios that are tried to find a smaller one that still fails. */
export const SIM_SHRINKS_MAX = 300;
