// The verdicts of the proof.

/** One line each; they are never merged into one. */
export interface Verdicts {
  /** The stream agrees with itself: every chain value is that of its events and state digests. */
  readonly chain: Verdict;
  /** This browser folded each commit to the recorded state digest. */
  readonly fold: Verdict;
  /** The stream has the chain value, or agrees with the checkpoint, that the reader gave. */
  readonly head: Verdict & { readonly given: HeadGivenKind | null };
  /** Every blob that the stream names is there and has its digest. */
  readonly blobs: Verdict & { readonly absent: number };
}

export interface Verdict {
  /** `none`: nothing was given or asked to compare with. `cannot`: this source has no means. */
  readonly state: 'none' | 'cannot' | 'checking' | 'good' | 'bad';
  /** Events, or blobs; counts up while it checks. */
  readonly checked: number;
  readonly total: number | null;
  /** The verdict as one sentence. */
  readonly line: string;
  /** The first fault; its position is the one that `refold verify` names. */
  readonly fault: Fault | null;
}

export interface Fault {
  /** -1 is the genesis record. */
  readonly position: number;
  readonly what: string;
  readonly message: string;
  readonly recorded: string | null;
  readonly replayed: string | null;
}

export type HeadGiven =
  /** The chain value after `version` events; after the last one when absent. */
  | { readonly kind: 'chain'; readonly chain: string; readonly version?: number }
  /** The text of a checkpoint or proof file; the PEM of the public key to trust, else the key in the file. */
  | { readonly kind: 'checkpoint'; readonly text: string; readonly public_key?: string };

export interface HeadGivenKind {
  readonly kind: HeadGiven['kind'];
  /** The signer's key was given by the reader, not by the file. */
  readonly trusted: boolean;
  /** Events that it covers. */
  readonly version: number | null;
  readonly signed_at_ms: number | null;
}
