// Identifiers, each with a separate type, so that they cannot be mixed up.
import { type Branded, type Codec, type TypeOf, identifier, integer } from './codec.ts';

/** One session, which is one stream. */
export const SessionId = identifier('SessionId', 64, /^[A-Za-z0-9][A-Za-z0-9_.-]*$/);
export type SessionId = TypeOf<typeof SessionId>;

/** One run of a session: `run-1`, `run-2`, … */
export const RunId = identifier('RunId', 32, /^run-[1-9][0-9]*$/);
export type RunId = TypeOf<typeof RunId>;

/** One batch of calls of a session: `batch-1`, `batch-2`, … */
export const BatchId = identifier('BatchId', 32, /^batch-[1-9][0-9]*$/);
export type BatchId = TypeOf<typeof BatchId>;

/** One observed call, unique in its batch: the id from the provider, or one the bridge generated. */
export const CallId = identifier('CallId', 128, /^[\x21-\x7e]+$/);
export type CallId = TypeOf<typeof CallId>;

/** The stable, dotted name of a tool, e.g. `host.fs.read_file`. */
export const ToolId = identifier('ToolId', 128, /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/);
export type ToolId = TypeOf<typeof ToolId>;

/** The name of a tool that the model sees. */
export const ToolName = identifier('ToolName', 64, /^[A-Za-z0-9_-]+$/);
export type ToolName = TypeOf<typeof ToolName>;

/** A named, ordered list of tools. */
export const ProfileId = identifier('ProfileId', 64, /^[A-Za-z0-9][A-Za-z0-9_.-]*$/);
export type ProfileId = TypeOf<typeof ProfileId>;

/** A host session, as the host names it. */
export const HostSessionId = identifier('HostSessionId', 128, /^[\x21-\x7e]+$/);
export type HostSessionId = TypeOf<typeof HostSessionId>;

/** The idempotency key of one event: unique in its stream. */
export const EVENT_ID_CHARS_MAX = 128;
export const EventId = identifier('EventId', EVENT_ID_CHARS_MAX, /^[\x21-\x7e]+$/);
export type EventId = TypeOf<typeof EventId>;

/** Names one effect; the same obligation always has the same id. */
export const EffectId = identifier('EffectId', 320, /^[\x21-\x7e]+$/);
export type EffectId = TypeOf<typeof EffectId>;

/** The holder of a lease: one bridge process. */
export const OwnerId = identifier('OwnerId', 128, /^[\x21-\x7e]+$/);
export type OwnerId = TypeOf<typeof OwnerId>;

/** `sha256:` and 64 lower-case hex digits. */
export const Digest = identifier('Digest', 71, /^sha256:[0-9a-f]{64}$/);
export type Digest = TypeOf<typeof Digest>;

declare const positionBrand: unique symbol;
declare const versionBrand: unique symbol;
/** 0-based index of an event in its stream. */
export type Position = number & { readonly [positionBrand]: true };
/** How many events a stream holds: the position of the next one. */
export type Version = number & { readonly [versionBrand]: true };

export const Position = integer('a position', 0) as unknown as Codec<Position>;
export const Version = integer('a version', 0) as unknown as Codec<Version>;

/** Milliseconds since 1970-01-01T00:00:00Z, measured at the edge. */
/** The last time that a date can have (ECMA-262, "Time Values and Time Range"). */
export const TIME_MS_MAX = 8_640_000_000_000_000;
export const TimeMs = integer('milliseconds since 1970', 0, TIME_MS_MAX);

/** A generated session id: sortable by time (milliseconds since 1970), then random. */
export const makeSessionId = (nowMs: number, random: string): SessionId =>
  brand(`s-${nowMs.toString(36)}-${random.slice(0, 8)}`);

/** Brands text that is known to be a valid id; for literals and derived ids. */
export const brand = <Name extends string>(value: string): Branded<Name> => value as Branded<Name>;
