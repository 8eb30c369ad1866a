// The bounds of what servers of the Model Context Protocol send. Each docstring states what is limited, in which unit, and
// what happens at the bound.

/** Most servers in a configuration. A file with more is refused. */
export const MCP_SERVERS_MAX = 64;
/** Largest configuration file of servers, in bytes. A larger one is refused. */
export const MCP_CONFIG_BYTES_MAX = 262_144;
/** How often the configuration file is looked at, in milliseconds. */
export const MCP_CONFIG_LOOK_MS = 1_000;
/** Longest message of a server, in bytes. A server that sends a longer one is restarted, and its calls fail. */
export const MCP_MESSAGE_BYTES_MAX = 8 * 1_048_576;
/** Most invalid messages of one connection. A server that sends more is restarted. */
export const MCP_FAULTS_MAX = 64;
/** Messages that a server may send in a second. One that sends more is read more slowly. */
export const MCP_MESSAGES_PER_SECOND_MAX = 4_096;
/** Messages of one server that are handled before what else is ready. The others wait for the next turn of the event loop. */
export const MCP_MESSAGES_AT_ONCE_MAX = 16;
/** What is kept of the end of a server's standard error, in characters; the rest is read and dropped. */
export const MCP_STDERR_CHARS = 2_048;
/** Longest connecting to a server with its handshake, in milliseconds. Then it is tried again after a wait. */
export const MCP_CONNECT_MS_MAX = 30_000;
/** How long a local server may take to answer the probe of its protocol; a silent one speaks an older protocol. */
export const MCP_PROBE_MS_MAX = 3_000;
/** Longest listing of the tools of a server, in milliseconds, and most pages of it. A longer listing fails. */
export const MCP_LIST_MS_MAX = 30_000;
/** Most pages of one listing. A listing with more fails. */
export const MCP_LIST_PAGES_MAX = 64;
/** Most tools read from one listing. The tools after them are left out. */
export const MCP_LIST_TOOLS_MAX = 4_096;
/** Largest listing, in characters of JSON. A larger one fails. */
export const MCP_LIST_CHARS_MAX = 16 * 1_048_576;
/** Longest cursor of a page, in characters. A listing with a longer one fails. */
export const MCP_CURSOR_CHARS_MAX = 65_536;
/** How long a listing is trusted at most, in milliseconds, whatever the server says; then the tools are listed again. */
export const MCP_TTL_MS_MAX = 86_400_000;
/** How long a listing is trusted at least, in milliseconds, when the server says how long. */
export const MCP_TTL_MS_MIN = 10_000;
/** Changes of the tools that a server announces within this time, in milliseconds, are listed once. */
export const MCP_CHANGES_MS = 500;
/** Longest wait between two listings that a server causes, in milliseconds: it doubles with each, and a calm time resets it. */
export const MCP_CHANGES_MS_MAX = 60_000;
/** Wait before a server that failed is started again, in milliseconds. It doubles with each failure. */
export const MCP_RESTART_MS_BASE = 500;
/** Longest such wait, in milliseconds. */
export const MCP_RESTART_MS_MAX = 60_000;
/** How long a generate waits for servers that have not listed their tools yet, in milliseconds, counted from their start. */
export const MCP_ATTACH_MS_MAX = 5_000;
/** How long a server that was stopped may take to end before it is killed, in milliseconds. */
export const MCP_STOP_MS = 2_000;
/** Longest name of a tool at its server, in characters. A tool with a longer one is left out. */
export const MCP_TOOL_NAME_CHARS_MAX = 256;
/** Largest schema of a tool, in characters of JSON. A tool with a larger one is left out. */
export const MCP_SCHEMA_CHARS_MAX = 65_536;
/** Deepest schema of a tool, in levels. A tool with a deeper one is left out. */
export const MCP_SCHEMA_DEPTH_MAX = 48;
/** Most values in a schema of a tool. A tool with more is left out. */
export const MCP_SCHEMA_VALUES_MAX = 4_096;
/** Largest definition of a tool, in characters of JSON. A tool with a larger one is left out. */
export const MCP_DEFINITION_CHARS_MAX = 131_072;
/** Largest toolset as it is reported, in characters of JSON. The tools that would exceed it are left out. */
export const MCP_TOOLSET_CHARS_MAX = 720_896;
/** Most values in a toolset as it is reported. The tools that would exceed it are left out. */
export const MCP_TOOLSET_VALUES_MAX = 24_576;
/** Tools of a toolset that the engine refuses one by one and that are left out; with a further one the toolset is not set. */
export const TOOLSET_REFUSALS_MAX = 8;
/** Toolsets of one session that a bridge reports at once. Those that arrive together are one commit. */
export const TOOLSET_REPORTS_MAX = 16;
/** Sessions of which a bridge remembers that they have its toolsets. Beyond it, the one asked for longest ago is read again. */
export const TOOLSET_SESSIONS_MAX = 4_096;
/** Tools that are left out and named in the log, with the reason. The others are counted. */
export const MCP_LEFT_OUT_NAMED_MAX = 8;
/** Longest check of a value against a schema of a server, in milliseconds. A check that takes longer fails. */
export const MCP_CHECK_MS_MAX = 1_000;
/** Longest compiling of a schema of a server, in milliseconds, also on a busy machine. A tool whose schema takes longer is left out. */
export const MCP_COMPILE_MS_MAX = 10_000;
/** Longest start of the thread that checks, in milliseconds. A check that waited longer fails. */
export const MCP_CHECK_START_MS_MAX = 10_000;
/** Largest heap of that thread, in MiB. A check that needs more fails. */
export const MCP_CHECK_MIB_MAX = 128;
/** Most content blocks of one result that are mapped. A line of the output counts the others. */
export const MCP_CONTENT_BLOCKS_MAX = 1_024;
/** Most questions that a server asks a person at once. A call with more fails. */
export const SERVER_QUESTIONS_MAX = 16;
/** How often a server may ask to be called again before it answers a call. With one more the call fails. */
export const MCP_ROUNDS_MAX = 8;
/** How often a task of a server is asked for, unless the server says, in milliseconds. */
export const MCP_POLL_MS_DEFAULT = 1_000;
/** Shortest such time that a server can set, in milliseconds. */
export const MCP_POLL_MS_MIN = 100;
/** Longest such time, in milliseconds. */
export const MCP_POLL_MS_MAX = 30_000;
/** Most redirects of one request that are followed, all within the origin of the server. */
export const MCP_REDIRECTS_MAX = 5;
/** How long a request for a token, or for what is needed to ask for one, may take, in milliseconds. */
export const MCP_TOKEN_MS_MAX = 30_000;
/** How long `refold mcp login` waits for a person, in milliseconds. */
export const MCP_LOGIN_MS_MAX = 600_000;
/** Most redirects of a browser that are read during one login; more of them, which belong to no request, end it. */
export const MCP_CALLBACKS_MAX = 64;
/** Largest stored login of a server, in bytes. A larger file is not read. */
export const MCP_LOGIN_BYTES_MAX = 262_144;
