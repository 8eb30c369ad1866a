// The little a journal asks of an ordered key-value store. Every method may end with a Refusal: `damaged` when the
// store itself notices that its files are corrupt, else `storage_failed`.

export interface Put {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Keys from `gte` up to, but not including, `lt`, in byte order. */
export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}

export interface ScanOptions {
  /** Most entries; all of the range when not given. */
  readonly limit?: number;
  /** From the end of the range. */
  readonly reverse?: boolean;
}

/** One consistent moment of the store: writes that finish later do not show. */
export interface StoreView {
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]>;
  scan(range: KeyRange, options: ScanOptions): Promise<readonly Put[]>;
}

export interface Store {
  /** Writes all or nothing, and is on disk when it resolves. After a failure the outcome is unknown until reopened. */
  write(puts: readonly Put[]): Promise<void>;
  view<T>(work: (view: StoreView) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export type OpenStore = () => Promise<Store>;
