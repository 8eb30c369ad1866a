#!/usr/bin/env python3
"""Verifies an exported session without any of the engine's code: Python >= 3.8, standard library only.

    python3 verify.py session.jsonl [--head sha256:...]

For every line it encodes the canonical JSON (RFC 8785), hashes it, and recomputes the chain:

    chain(genesis) = H(genesis)        chain(n) = H(["refold/chain/1", chain(n-1), H(event n), state digest n])

with H(x) = "sha256:" + hex SHA-256 of the canonical JSON of x. Exit codes: 0 verified, 1 something is wrong (the first
bad position is named; -1 is the genesis record), 2 misuse or a file that cannot be read.

It has no reducer, so it does not recompute state digests: it shows that the chain binds the recorded ones (all but the
genesis record's, which follows from the genesis). `refold verify` recomputes them. A file that lost its last lines, or
whose chain was rewritten from some position on, is consistent; only a chain value that was kept elsewhere reveals it.
"""
import argparse
import hashlib
import json
import re
import sys

DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
GENESIS_KEYS = {"kind", "format", "genesis", "state_digest", "chain"}
EVENT_KEYS = {"kind", "position", "event", "event_digest", "state_digest", "chain"}


class Bad(Exception):
    """The fault of a record."""


# ── RFC 8785 ──


def number_text(value):
    """ECMAScript's Number::toString (ECMA-262, 6.1.6.1.20), which RFC 8785 section 3.2.2.3 requires.

    Python's repr gives the same shortest digits; only the notation differs.
    """
    if value == 0:
        return "0"
    sign, text = ("-", repr(-value)) if value < 0 else ("", repr(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.DIGITS times ten to the power of `point`.
    point = len(whole) + int(exponent or "0") - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    tail = "" if count == 1 else "." + digits[1:]
    return "{}{}{}e{}{}".format(sign, digits[0], tail, "+" if point > 0 else "-", abs(point - 1))


def string_text(value):
    """RFC 8785 section 3.2.2.2: \\b \\t \\n \\f \\r \\" \\\\, other control characters as \\u00xx, all else unchanged."""
    return json.dumps(value, ensure_ascii=False)


def canonical(value):
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    # RFC 8785 section 3.2.3: keys by UTF-16 code units, which is not the order of code points.
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(string_text(key) + ":" + canonical(value[key]) for key in keys) + "}"


def digest(value):
    return "sha256:" + hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()


def read_number(text):
    """Reads every number as a double, as ECMAScript does. Refuses -0 and numbers that no double holds."""
    value = float(text)
    if value in (float("inf"), float("-inf")) or (value == 0 and text.startswith("-")):
        raise Bad("the number {} is outside the value domain".format(text[:40]))
    return value


def read_constant(text):
    raise Bad("{} is not a JSON number".format(text))


def read_object(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Bad("an object gives one key twice")
    return value


def read_json(text):
    return json.loads(
        text, parse_int=read_number, parse_float=read_number, parse_constant=read_constant, object_pairs_hook=read_object
    )


# ── The stream ──


def expect(what, recorded, computed):
    if recorded != computed:
        raise Bad("{}: recorded {}, computed {}".format(what, recorded, computed))


def expect_record(record, kind, keys):
    if not isinstance(record, dict) or record.get("kind") != kind:
        raise Bad("not a record of kind {}".format(kind))
    # The chain does not cover further fields, so they are refused.
    if set(record) != keys:
        raise Bad("unknown or missing fields: {}".format(sorted(set(record) ^ keys)))
    for key in keys & {"event_digest", "state_digest", "chain"}:
        if not isinstance(record[key], str) or not DIGEST.match(record[key]):
            raise Bad("{} is not a digest".format(key))


def check_genesis(record):
    """Returns how many events it shares with the session that it was forked from."""
    expect_record(record, "genesis", GENESIS_KEYS)
    genesis = record["genesis"]
    if canonical(record["format"]) != "1" or not isinstance(genesis, dict):
        raise Bad("not a genesis record of format 1")
    expect("tool_package_digest", genesis.get("tool_package_digest"), digest(genesis.get("tool_package")))
    expect("chain", record["chain"], digest(genesis))
    fork = genesis.get("forked_from", {"position": 0.0})
    if not isinstance(fork, dict) or not isinstance(fork.get("position"), float):
        raise Bad("forked_from names no position")
    return fork["position"]


def check_event(record, position, before):
    expect_record(record, "event", EVENT_KEYS)
    expect("position", canonical(record["position"]), str(position))
    expect("event_digest", record["event_digest"], digest(record["event"]))
    link = ["refold/chain/1", before, record["event_digest"], record["state_digest"]]
    expect("chain", record["chain"], digest(link))


def verify(lines, head):
    """Returns session id, events, chain, and the position of `head` (None when no record has it)."""
    position, chain, session, head_at, shared = -1, None, None, None, 0
    try:
        for line in filter(bytes.strip, lines):
            record = read_json(line.decode("utf-8"))
            if chain is None:
                shared = check_genesis(record)
                session = record["genesis"].get("session_id")
            else:
                check_event(record, position, chain)
            chain = record["chain"]
            if chain == head:
                head_at = position
            position += 1
        if chain is None:
            raise Bad("the file is empty")
        if position < shared:
            raise Bad("it shares {:.0f} events with the session it was forked from".format(shared))
    except (Bad, ValueError, RecursionError) as problem:
        raise Bad("position {}: {}".format(position, problem or "nested too deeply"))
    return session, position, chain, head_at


def main():
    parser = argparse.ArgumentParser(description="Verifies an exported session: event digests and chain.")
    parser.add_argument("file", help="JSON Lines as `refold export` writes them; - for standard input")
    parser.add_argument("--head", metavar="CHAIN", help="a chain value you kept: the file must contain it")
    given = parser.parse_args()
    if given.head is not None and not DIGEST.match(given.head):
        parser.error("--head takes sha256: and 64 hex digits")
    try:
        with sys.stdin.buffer if given.file == "-" else open(given.file, "rb") as lines:
            session, events, chain, head_at = verify(lines, given.head)
    except OSError as problem:
        print("verify.py: {}".format(problem), file=sys.stderr)
        return 2
    except Bad as problem:
        print("bad      {}".format(problem))
        return 1
    print("session  {}\nevents   {}\nchain    {}".format(session, events, chain))
    if given.head is not None and head_at is None:
        print("bad      no record has the head {}: events were cut off or the log was chained anew".format(given.head))
        return 1
    if given.head is not None:
        print("head     the chain value of position {}; {} events follow it".format(head_at, events - 1 - head_at))
    print("verified: every event digest and chain value; state digests are bound by the chain, not recomputed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
