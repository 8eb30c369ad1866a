// What one command of the host may use (docs/limits.md).
/** Most processes of a command's user, set through prlimit(1). Starting more fails in the command. */
export const COMMAND_PROCESSES_MAX = 1_024;
/** Most processor time of each process of a command, in seconds. Then the kernel kills it. */
export const COMMAND_CPU_SECONDS_MAX = 1_200;
/** Most open files of each process of a command. Opening more fails in the command. */
export const COMMAND_FILES_OPEN_MAX = 4_096;
/** Largest file a command writes, in bytes. Writing more fails in the command. */
export const COMMAND_FILE_BYTES_MAX = 1_073_741_824;
/**
 * Most writable memory of each process of a command, in bytes. Address space is not limited, because runtimes reserve far
 * more of it than they touch.
 */
export const COMMAND_MEMORY_BYTES_MAX = 4_294_967_296;
/** Size of the private /tmp of a sandboxed command, in bytes. Writing more fails in the command. */
export const COMMAND_TMP_BYTES_MAX = 268_435_456;
