// The limits of the stream of frames between an engine and its bridges (docs/bridge.md, "The stream").
/** Bytes of one frame; a longer one is refused as `too_large`, and its stream closed. Longer answers come in parts. */
export const FRAME_BYTES_MAX = 1_048_576;
/** Milliseconds from the first byte of a frame to its last; a stream with half a frame for longer is closed. */
export const FRAME_MS_MAX = 10_000;
/** Bytes of answers that wait for the reader of a stream; a stream with more is closed as stalled. */
export const FRAMES_UNREAD_BYTES_MAX = 4 * 1_048_576;
/** Characters of an answer in one frame; the rest follows in further frames, as the reader takes them. */
export const FRAME_PART_CHARS = 131_072;
/** Bytes of a blob that is sent in a frame; a larger one is sent over HTTP. */
export const FRAME_BLOB_BYTES_MAX = 262_144;
/** Requests of one stream that wait for their answers; a further one is refused as `queue_full`. */
export const FRAMES_OPEN_MAX = 4_096;
/** Milliseconds that a bridge waits for an engine to open a stream; then it uses HTTP. */
export const STREAM_OPEN_MS_MAX = 5_000;
/** Milliseconds that a bridge uses HTTP before it asks again for a stream that it did not get. */
export const STREAM_AGAIN_MS = 2_000;
