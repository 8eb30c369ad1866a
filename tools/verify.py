#!/usr/bin/env python3
"""Verifies an exported session without any of the engine's code: Python >= 3.8, standard library only.

    python3 verify.py session.jsonl [--head sha256:...] [--checkpoint kept.json [--public-key KEY.pub]]

It follows docs/format.md, "A verifier, step by step": for every line it reads the JSON, encodes its canonical form
(RFC 8785), hashes it, and recomputes the chain

    chain = H(["refold/chain/1", chain before, [H(event), ...], state digest])

with H(x) = "sha256:" + hex SHA-256 of the canonical JSON of x. The first chain value binds the genesis in place of a
chain before it, and no events. Exit codes: 0 verified, 1 something is wrong (`position` is that of the first event of the
bad commit; -1 is the genesis record or the tool package), 2 misuse or a file that cannot be read.

It has no reducer, so it does not recompute state digests: it shows that the chain binds the recorded ones. `refold verify`
recomputes them. A file that lost its last lines, or whose chain was computed anew from some position on, is consistent;
only a chain value or a checkpoint that was kept elsewhere reveals it.
"""
import argparse
import base64
import binascii
import hashlib
import json
import re
import sys

LINE_BYTES_MAX = 64 * 1048576
DEPTH_MAX = 64
VALUES_MAX = 1000000
EVENTS_PER_COMMIT_MAX = 256
CHECKPOINT_SESSIONS_MAX = 100000
PROOF_STEPS_MAX = 17
TIME_MS_MAX = 8640000000000000
INTEGER_MAX = 2 ** 53 - 1

DIGEST = r"sha256:[0-9a-f]{64}"
SESSION_ID = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"


class Bad(Exception):
    """The fault of a record, or of a checkpoint."""


class Misuse(Exception):
    """A file that cannot be used as what it was given for."""


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


# ── The value domain ──


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
    if "__proto__" in value:
        raise Bad("an object has the key __proto__")
    return value


def read_json(text):
    root = json.loads(
        text, parse_int=read_number, parse_float=read_number, parse_constant=read_constant, object_pairs_hook=read_object
    )
    seen, left = 0, [(root, 0)]
    while left:
        value, depth = left.pop()
        seen += 1
        if isinstance(value, (dict, list)) and depth == DEPTH_MAX:
            raise Bad("nested deeper than {} levels".format(DEPTH_MAX))
        if isinstance(value, dict):
            for key in value:
                key.encode("utf-8")  # a lone surrogate raises UnicodeEncodeError, a ValueError
            left.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list):
            left.extend((item, depth + 1) for item in value)
        elif isinstance(value, str):
            value.encode("utf-8")
    if seen > VALUES_MAX:
        raise Bad("more than {} values".format(VALUES_MAX))
    return root


# ── Shapes ──


def matching(pattern):
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def integer(low, high=INTEGER_MAX):
    return lambda value: isinstance(value, float) and value.is_integer() and low <= value <= high


def is_object(value):
    return isinstance(value, dict)


def sized(low, high):
    return lambda value: isinstance(value, list) and low <= len(value) <= high


is_digest, is_session, is_time = matching(DIGEST), matching(SESSION_ID), integer(0, TIME_MS_MAX)

PACKAGE = {"kind": matching("package"), "digest": is_digest, "tool_package": is_object}
GENESIS_RECORD = {
    "kind": matching("genesis"), "format": integer(2, 2), "genesis": is_object, "state_digest": is_digest, "chain": is_digest
}
GENESIS = {
    "v": integer(1, 1), "session_id": is_session, "created_at_ms": is_time, "tool_package_digest": is_digest,
    "config": is_object, "consent": is_object, "rules": integer(1), "since": matching(r"(?=.{5,32}$)[0-9]+\.[0-9]+\.[0-9]+"),
}
FORKED_FROM = {"session_id": is_session, "position": integer(0), "chain": is_digest}
COMMIT = {
    "kind": matching("commit"), "position": integer(0), "events": sized(1, EVENTS_PER_COMMIT_MAX),
    "state_digest": is_digest, "chain": is_digest,
}
# Each kind of event has further fields, which only a fold checks.
ENVELOPE = {
    "v": integer(1, 1), "event_id": matching(r"(?!__proto__$)[\x21-\x7e]{1,128}"), "at_ms": is_time, "kind": lambda kind: isinstance(kind, str)
}
HEAD = {
    "purpose": matching("refold/checkpoint/1"), "created_at_ms": is_time, "tree_size": integer(0, CHECKPOINT_SESSIONS_MAX),
    "root": is_digest,
}
LEAF = {"session_id": is_session, "version": integer(0), "chain": is_digest}
SIGNED = {"head": is_object, "public_key": matching("[A-Za-z0-9+/]{43}="), "signature": matching("[A-Za-z0-9+/]{86}==")}
CHECKPOINT = {"kind": matching("checkpoint"), "sessions": sized(0, CHECKPOINT_SESSIONS_MAX), **SIGNED}
PROOF = {
    "kind": matching("checkpoint_proof"), "session": is_object, "index": integer(0, CHECKPOINT_SESSIONS_MAX),
    "path": sized(0, PROOF_STEPS_MAX), **SIGNED,
}


def expect_fields(what, value, fields, optional=(), others=False):
    """The chain does not cover further fields of a record, so they are refused."""
    if not isinstance(value, dict):
        raise Bad("{} is not an object".format(what))
    for name in fields:
        if name not in value:
            raise Bad("{} has no field {}".format(what, name))
        if not fields[name](value[name]):
            raise Bad("{}: the field {} is not valid".format(what, name))
    unknown = sorted(set(value) - set(fields) - set(optional))
    if unknown and not others:
        raise Bad("{} has unknown fields: {}".format(what, ascii(unknown)))


def expect(what, recorded, computed):
    if recorded != computed:
        raise Bad("{}: recorded {}, computed {}".format(what, recorded, computed))


# ── The stream ──


def link(before, events, state_digest):
    return digest(["refold/chain/1", before, [digest(event) for event in events], state_digest])


def check_package(record):
    expect_fields("the package record", record, PACKAGE)
    expect("digest", record["digest"], digest(record["tool_package"]))
    return record["digest"]


def check_genesis(record, package):
    """Returns the session id, and how many events it shares with the session that it was forked from."""
    expect_fields("the genesis record", record, GENESIS_RECORD)
    genesis = record["genesis"]
    expect_fields("the genesis", genesis, GENESIS, optional=["forked_from"])
    if "forked_from" in genesis:
        expect_fields("forked_from", genesis["forked_from"], FORKED_FROM)
    expect("tool_package_digest", genesis["tool_package_digest"], package)
    expect("chain", record["chain"], link(digest(genesis), [], record["state_digest"]))
    return genesis["session_id"], genesis.get("forked_from", {}).get("position", 0)


def check_commit(record, position, before):
    """Returns the number of its events."""
    expect_fields("the commit", record, COMMIT)
    expect("position", record["position"], position)
    for event in record["events"]:
        expect_fields("an event", event, ENVELOPE, others=True)
    expect("chain", record["chain"], link(before, record["events"], record["state_digest"]))
    for event in record["events"]:
        calls = event["calls"] if isinstance(event.get("calls"), list) else []
        for call in filter(is_object, calls + [event.get("instead")]):
            check_arguments(call)
    return len(record["events"])


def check_arguments(call):
    """A call has its arguments in one form. A digest beside arguments is theirs; that of a blob takes the blob."""
    if sum(form in call for form in ("arguments", "arguments_text", "arguments_ref")) > 1:
        raise Bad("a call has its arguments in more than one form")
    recorded, text = call.get("arguments_digest"), call.get("arguments_text")
    if recorded is not None and "arguments" in call:
        expect("arguments_digest", recorded, digest(call["arguments"]))
    elif recorded is not None and isinstance(text, str):
        expect("arguments_digest", recorded, "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest())


def verify(lines):
    """Yields session id, number of events and chain value after the genesis record and after each commit."""
    package = session = chain = None
    events, shared = 0, 0
    try:
        for line in lines:
            if len(line.rstrip(b"\n")) > LINE_BYTES_MAX:
                raise Bad("a line is longer than {} bytes".format(LINE_BYTES_MAX))
            if not line.strip(b" \t\r\v\f\n"):
                continue
            record = read_json(line.decode("utf-8"))
            kind = record.get("kind") if isinstance(record, dict) else None
            if kind == "package" and package is None:
                package = check_package(record)
                continue
            if kind == "genesis" and package is not None and session is None:
                session, shared = check_genesis(record, package)
            elif kind == "commit" and session is not None:
                events += check_commit(record, events, chain)
            else:
                raise Bad("a record of kind {} cannot stand here".format(ascii(kind)[:80]))
            chain = record["chain"]
            yield session, events, chain
        if session is None:
            raise Bad("there is no genesis record")
        if events < shared:
            raise Bad("it shares {:.0f} events with the session it was forked from".format(shared))
    except (Bad, ValueError, RecursionError) as problem:
        raise Bad("position {}: {}".format(-1 if session is None else events, str(problem) or "nested too deeply"))


# ── Ed25519 (RFC 8032, section 5.1) ──

P = 2 ** 255 - 19
L = 2 ** 252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def point_add(a, b):
    """Section 5.1.4, extended homogeneous coordinates."""
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def point_times(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = point_add(total, point)
        point, scalar = point_add(point, point), scalar >> 1
    return total


def point_of(encoded):
    """Section 5.1.3. None when the 32 bytes are not the canonical encoding of a point."""
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & (2 ** 255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


def is_signed(public_key, message, signature):
    """Section 5.1.7. A signature whose S is not below L is refused: it would be a second one for the same message."""
    key, r, s = point_of(public_key), point_of(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % L
    base = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    left, right = point_times(s, base), point_add(r, point_times(k, key))
    return all((left[axis] * right[2] - right[axis] * left[2]) % P == 0 for axis in (0, 1))


# ── Checkpoints ──


def leaf_digest(leaf):
    return digest(["refold/checkpoint-leaf/1", leaf["session_id"], leaf["version"], leaf["chain"]])


def node_digest(left, right):
    return digest(["refold/checkpoint-node/1", left, right])


def split_of(count):
    """The largest power of two below a count of at least 2 (RFC 9162, section 2.1.1)."""
    return 1 << ((count - 1).bit_length() - 1)


def root_of(leaves):
    if len(leaves) < 2:
        return leaves[0] if leaves else digest(["refold/checkpoint-tree/1"])
    split = split_of(len(leaves))
    return node_digest(root_of(leaves[:split]), root_of(leaves[split:]))


def root_from_path(leaf, index, size, path):
    """None when the path does not have the length of the place."""
    if index >= size or (size == 1) != (not path):
        return None
    if size == 1:
        return leaf
    split = split_of(size)
    low = index < split
    below = root_from_path(leaf, index if low else index - split, split if low else size - split, path[:-1])
    if below is None:
        return None
    return node_digest(below, path[-1]) if low else node_digest(path[-1], below)


def read_file(path):
    with open(path, "rb") as file:
        content = file.read(LINE_BYTES_MAX + 1)
    if len(content) > LINE_BYTES_MAX:
        raise Misuse("{} is larger than {} bytes".format(path, LINE_BYTES_MAX))
    return content


def read_checkpoint(path):
    try:
        file = read_json(read_file(path).decode("utf-8"))
        proof = isinstance(file, dict) and file.get("kind") == "checkpoint_proof"
        expect_fields("it", file, PROOF if proof else CHECKPOINT)
        expect_fields("the head", file["head"], HEAD)
        for leaf in [file["session"]] if proof else file["sessions"]:
            expect_fields("a session", leaf, LEAF)
        if proof and not all(map(is_digest, file["path"])):
            raise Bad("the path is not a list of digests")
    except (Bad, ValueError, RecursionError) as problem:
        raise Misuse("{} is not a checkpoint: {}".format(path, problem))
    return file


def read_public_key(path):
    """SubjectPublicKeyInfo in PEM (RFC 8410, section 4): the 12 bytes of its header, then the 32 of the key."""
    pem = re.search(rb"-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----", read_file(path))
    try:
        der = base64.b64decode(b"".join(pem.group(1).split()), validate=True) if pem else b""
    except binascii.Error:
        der = b""
    if len(der) != 44 or der[:12].hex() != "302a300506032b6570032100":
        raise Misuse("{} does not hold a public Ed25519 key in PEM".format(path))
    return der[12:]


def open_checkpoint(path, key_path):
    """The leaves of a checkpoint that is right, by session id."""
    file = read_checkpoint(path)
    head, public_key = file["head"], base64.b64decode(file["public_key"])
    if key_path is not None and read_public_key(key_path) != public_key:
        raise Bad("checkpoint: invalid, it was signed with another key than the given one")
    if not is_signed(public_key, canonical(head).encode("utf-8"), base64.b64decode(file["signature"])):
        raise Bad("checkpoint: invalid, the signature does not match this head and this key")
    if file["kind"] == "checkpoint_proof":
        leaves = [file["session"]]
        root = root_from_path(leaf_digest(leaves[0]), int(file["index"]), int(head["tree_size"]), file["path"])
    else:
        leaves = file["sessions"]
        ids = [leaf["session_id"] for leaf in leaves]
        if len(ids) != head["tree_size"] or any(a >= b for a, b in zip(ids, ids[1:])):
            raise Bad("checkpoint: invalid, its sessions are not those of its head, in order of their ids")
        root = root_of([leaf_digest(leaf) for leaf in leaves])
    if root != head["root"]:
        raise Bad("checkpoint: invalid, its sessions do not lead to the signed root")
    return {leaf["session_id"]: leaf for leaf in leaves}


def compare(leaf, events, chain_there):
    """One line about a leaf: `chain_there` is the chain value after as many events as it has, None when no commit ends there."""
    if leaf is None:
        return "checkpoint  absent: it does not hold this session"
    if events < leaf["version"]:
        raise Bad("checkpoint: truncated, it holds {:.0f} events, and {} are left".format(leaf["version"], events))
    if chain_there != leaf["chain"]:
        raise Bad("checkpoint: rewritten, the first {:.0f} events are not those that were signed".format(leaf["version"]))
    return "checkpoint  ok: as signed after {:.0f} events; {:.0f} follow".format(leaf["version"], events - leaf["version"])


# ── The command ──


def check(given):
    leaves = open_checkpoint(given.checkpoint, given.public_key) if given.checkpoint is not None else {}
    head_at = signed = None
    with sys.stdin.buffer if given.file == "-" else open(given.file, "rb") as lines:
        for session, events, chain in verify(lines):
            if chain == given.head:
                head_at = events
            if session in leaves and events == leaves[session]["version"]:
                signed = chain
    print("session  {}\nevents   {}\nchain    {}".format(session, events, chain))
    if given.head is not None:
        if head_at is None:
            raise Bad("head: no record has {}: events were cut off or the log was chained anew".format(given.head))
        print("head     found after {} events; {} follow".format(head_at, events - head_at))
    if given.checkpoint is not None:
        print(compare(leaves.get(session), events, signed))
    print("verified: every event and chain value; state digests are bound by the chain, not recomputed")


def main():
    parser = argparse.ArgumentParser(
        description="Verifies an exported session: its records, event digests and chain.", allow_abbrev=False
    )
    parser.add_argument("file", help="JSON Lines as `refold export` writes them; - for standard input")
    parser.add_argument("--head", metavar="CHAIN", help="a chain value you kept: the file must contain it")
    parser.add_argument("--checkpoint", metavar="FILE", help="a checkpoint or proof you kept: the file must agree with it")
    parser.add_argument("--public-key", metavar="FILE", help="the key that must have signed the checkpoint")
    given = parser.parse_args()
    if given.head is not None and not is_digest(given.head):
        parser.error("--head takes sha256: and 64 hex digits")
    if given.public_key is not None and given.checkpoint is None:
        parser.error("--public-key needs --checkpoint")
    try:
        check(given)
    except (OSError, Misuse) as problem:
        print("verify.py: {}".format(problem), file=sys.stderr)
        return 2
    except Bad as problem:
        print("bad      {}".format(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
