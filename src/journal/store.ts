// The port to an ordered key-value store. Every method may throw a Refusal: `damaged` when the store finds its files
// corrupt, `storage_full` when the disk is full, otherwise `storage_failed`.

export interface Put {
  /** The key, as the store orders it. */
  readonly key: Uint8Array;
  /** What is stored under it. */
  readonly value: Uint8Array;
}

/** A key that is deleted. */
export interface Removal {
  readonly key: Uint8Array;
  readonly value: null;
}

export type Change = Put | Removal;

/** Keys from `gte` up to, but not including, `lt`, in byte order. */
export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}

export interface ScanOptions {
  /** The maximum number of entries; all of the range when omitted. */
  readonly limit?: number;
  /** The entry with which the values reach this many bytes is the last; all of the range when omitted. */
  readonly bytesMax?: number;
  /** Starts at the end of the range. */
  readonly reverse?: boolean;
}

/** A consistent snapshot of the store: writes that finish later are not visible in it. */
export interface StoreView {
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]>;
  scan(range: KeyRange, options: ScanOptions): Promise<readonly Put[]>;
}

export interface Store {
  /** Makes all changes or none, in order and durably. After a failure the outcome is unknown until the store is reopened. */
  write(changes: readonly Change[]): Promise<void>;
  /** Set for a store that cannot be written to until it is opened again: its disk was full. */
  readonly isReadOnly?: true;
  /** Refuses when a write cannot succeed: the files of the store are no longer in their place, or it is read-only. */
  check(): void;
  view<T>(work: (view: StoreView) => Promise<T>): Promise<T>;
  /** Removes the bytes of deleted and replaced entries in these ranges from the disk. */
  compact(ranges: readonly KeyRange[]): Promise<void>;
  close(): Promise<void>;
}

export type OpenStore = () => Promise<Store>;
