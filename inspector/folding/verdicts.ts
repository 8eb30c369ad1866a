// The verdicts of the proof, one line each: what this browser has found out about a stream by itself.
import type { Divergence } from '../../src/core/index.ts';
import type { Fault, Verdict, Verdicts } from '../protocol.ts';
import type { BlobsProgress } from './blobs-verdict.ts';
import { type HeadFound, headVerdict } from './head-verdict.ts';
import type { StreamFold } from './stream-fold.ts';

export function verdictsOf(fold: StreamFold, head: HeadFound | null, blobs: BlobsProgress | null): Verdicts {
  return {
    chain: chainVerdict(fold),
    fold: foldVerdict(fold),
    head: headVerdict(fold, head),
    blobs: blobsVerdict(fold, blobs),
  };
}

export const shownFault = ({ position, what, message, recorded, replayed }: FaultFound): Fault => ({
  position,
  what,
  message,
  recorded: recorded ?? null,
  replayed: replayed ?? null,
});

type FaultFound = Omit<Divergence, 'what' | 'commit' | 'code'> & { readonly what: string };

const events = (count: number): string => `${count} ${count === 1 ? 'event' : 'events'}`;

const where = (position: number): string => (position < 0 ? 'the genesis record' : `event ${position + 1}`);

function chainVerdict(fold: StreamFold): Verdict {
  const { events: checked, fault } = fold.chain();
  return counted(
    fold,
    { checked, fault },
    {
      good: `the ${events(checked)} agree with their chain values`,
      bad: 'the stream does not agree with itself',
      checking: `${events(checked)} agree with their chain values so far`,
    },
  );
}

function foldVerdict(fold: StreamFold): Verdict {
  const checked = fold.progress().folded;
  return counted(
    fold,
    { checked, fault: fold.fault() },
    {
      good: `this browser folded ${events(checked)} to every recorded state digest`,
      bad: 'this browser does not reach the recorded state digest',
      checking: `this browser folded ${events(checked)} to their recorded state digests so far`,
    },
  );
}

interface Counted {
  readonly checked: number;
  readonly fault: Divergence | null;
}

function counted(
  fold: StreamFold,
  { checked, fault }: Counted,
  lines: Readonly<Record<'good' | 'bad' | 'checking', string>>,
): Verdict {
  // What a stream says of its own end is no end: only a reader that came to it knows that it has seen everything.
  const { total, done } = fold.progress();
  const unreadable = fold.unreadable();
  if (fault !== null) {
    const line = `${lines.bad} at ${where(fault.position)}: ${fault.message}`;
    return { state: 'bad', checked, total, line, fault: shownFault(fault) };
  }
  if (unreadable !== null) {
    const line = `${lines.checking}; the rest cannot be read: ${unreadable.message}`;
    return { state: 'cannot', checked, total, line, fault: null };
  }
  return { state: done ? 'good' : 'checking', checked, total, line: done ? lines.good : lines.checking, fault: null };
}

function blobsVerdict({ source }: StreamFold, blobs: BlobsProgress | null): Verdicts['blobs'] {
  const none = { checked: 0, total: null, fault: null, absent: 0 };
  if (source.blob === undefined) return { ...none, state: 'cannot', line: 'not checked: a file contains no blobs' };
  if (blobs === null) return { ...none, state: 'none', line: 'not checked yet' };
  const { checked, total, absent, bad, done } = blobs;
  const [first] = bad;
  const gone = absent === 0 ? '' : `; ${absent} responses of models are absent, which are evidence and may be`;
  const found = { checked, total, absent };
  if (first !== undefined) {
    const more = bad.length === 1 ? '' : `, and ${bad.length - 1} more`;
    const message = `${first.message} (${first.path})`;
    const fault = { position: first.position, what: 'blob', message, recorded: null, replayed: null };
    return { ...found, state: 'bad', line: `a blob is bad at ${where(first.position)}: ${message}${more}`, fault };
  }
  const state = done ? 'good' : 'checking';
  return { ...found, state, line: `${checked} blobs are there and have their digests${gone}`, fault: null };
}
