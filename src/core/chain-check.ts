// Whether a stream agrees with itself: each chain value is that of the value before it, of the events, and of the recorded
// state digest. Nothing is folded, so the check goes on where a fold stops; whether the states are right is another question
// (`newReplayer`). Of an altered stream, the earlier of the two faults is the one that a whole replay finds.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { Digest } from '../../schemas/ids.ts';
import {
  type CommitRecord,
  type GenesisRecord,
  type PackageRecord,
  type StreamRecord,
  versionAfter,
} from '../../schemas/record.ts';
import { unreachable } from '../../schemas/rejection.ts';
import { eventDigest, genesisDigest, nextChain } from './chain.ts';
import { checkPackage } from './package-parts.ts';
import { BEFORE, type Divergence, EMPTY, badRecord, refused } from './replay.ts';

export interface ChainCheck {
  /** False when this record does not agree; no further record is accepted. */
  add(record: StreamRecord): boolean;
  result(): ChainChecked;
}

export interface ChainChecked {
  /** Events whose chain value agrees. */
  readonly events: number;
  /** The chain value after them; null before the genesis record. */
  readonly chain: Digest | null;
  /** The first fault; null when there is none. A stream without a genesis record has one at position -1. */
  readonly fault: Divergence | null;
}

interface Link {
  readonly events: number;
  readonly chain: Digest;
}

export function newChainCheck(): ChainCheck {
  let tools: PackageRecord | null = null;
  let link: Link | null = null;
  let fault: Divergence | null = null;

  function taken(next: Either<Divergence, Link>): boolean {
    if (isLeft(next)) fault = next.left;
    else link = next.right;
    return fault === null;
  }

  function addPackage(record: PackageRecord): boolean {
    fault = packageFault(record, tools, link);
    tools = record;
    return fault === null;
  }

  const add = (record: StreamRecord): boolean => {
    switch (record.kind) {
      case 'package':
        return addPackage(record);
      case 'genesis':
        return taken(begin(record, tools, link));
      case 'commit':
        return taken(after(link, record));
      default:
        return unreachable(record);
    }
  };

  return {
    add: (record) => fault === null && add(record),
    result: () => ({
      events: link?.events ?? 0,
      chain: link?.chain ?? null,
      fault: fault ?? (link === null ? EMPTY : null),
    }),
  };
}

const placeOf = (link: Link | null) => (link === null ? BEFORE : { position: link.events, commit: link.events });

function packageFault(
  { digest, tool_package }: PackageRecord,
  tools: PackageRecord | null,
  link: Link | null,
): Divergence | null {
  if (tools !== null) return badRecord(placeOf(link), 'the stream has a second tool package');
  const checked = checkPackage(tool_package, digest);
  return isLeft(checked) ? refused(BEFORE, 'record', checked.left) : null;
}

function begin(
  { genesis, state_digest, chain }: GenesisRecord,
  tools: PackageRecord | null,
  link: Link | null,
): Either<Divergence, Link> {
  if (link !== null) return left(badRecord(placeOf(link), 'the stream has a second genesis record'));
  if (tools?.digest !== genesis.tool_package_digest) {
    return left(badRecord(BEFORE, `the genesis record names another tool package than the one before it`));
  }
  return compared({ events: 0, chain: nextChain(genesisDigest(genesis), [], state_digest) }, chain, BEFORE);
}

function after(link: Link | null, record: CommitRecord): Either<Divergence, Link> {
  if (link === null) return left(badRecord(BEFORE, 'the stream does not begin with a genesis record'));
  const { position, events, state_digest, chain } = record;
  if (position !== link.events) {
    return left(badRecord(placeOf(link), `the position is ${position}; it must be ${link.events}`));
  }
  const linked = nextChain(link.chain, events.map(eventDigest), state_digest);
  const version = versionAfter(record);
  return compared({ events: version, chain: linked }, chain, { position: version - 1, commit: position });
}

function compared(link: Link, recorded: Digest, at: Pick<Divergence, 'position' | 'commit'>): Either<Divergence, Link> {
  if (link.chain === recorded) return right(link);
  return left({ ...at, what: 'chain', message: 'the chain differs', recorded, replayed: link.chain });
}
