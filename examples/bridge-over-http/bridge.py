"""A bridge in Python 3, standard library only: leases effects over HTTP, runs them, and reports the outcomes.

    REFOLD_URL=http://127.0.0.1:7423 REFOLD_TOKEN=... python3 bridge.py

It follows docs/bridge.md, "The protocol": it checks the digest of the arguments, records the start of a call before it runs
it, derives event ids from effect ids so that a report may be sent again, and keeps its leases alive with heartbeats.
"""

import hashlib
import json
import os
import threading
import time
import urllib.error
import urllib.request

URL = os.environ["REFOLD_URL"].rstrip("/")
TOKEN = os.environ["REFOLD_TOKEN"]
OWNER = f"python-bridge-{os.getpid()}"
WAIT_MS = 20_000
AWAY = {"closing", "storage_failed", "storage_full", "storage_unknown", "queue_full"}


class Refused(Exception):
    """The engine refused a request; `code` says why."""

    def __init__(self, problem):
        super().__init__(f"{problem.get('code')}: {problem.get('detail')}")
        self.code = problem.get("code")


def post(path, body, timeout=30):
    """Sends a request until the engine has answered it; raises Refused for a rejection that is final."""
    data = json.dumps(body).encode()
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    while True:
        try:
            request = urllib.request.Request(URL + path, data, headers)
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            problem = json.loads(error.read() or b"{}")
            if problem.get("code") not in AWAY:
                raise Refused(problem) from error
        except OSError:
            pass
        time.sleep(0.5)


def canonical(value):
    """RFC 8785 for what these tools take: strings, whole numbers, lists and objects with keys in ASCII."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def digest(value):
    return "sha256:" + hashlib.sha256(canonical(value).encode()).hexdigest()


def ask_model(effect):
    """A model of your choice. This one is a script: it looks two words up, then answers."""
    results = [entry["content"]["text"] for entry in effect["transcript"]["open"] if entry["role"] == "tool"]
    if results:
        return {"content": {"text": " ".join(results)}, "calls": []}
    words = ["event", "fold"]
    calls = [{"call_id": w, "tool_name": "count_letters", "arguments": {"word": w}} for w in words]
    return {"calls": calls}


def run_tool(tool_id, arguments):
    """Your tools: text for the model, and whether it worked."""
    if tool_id == "words.count_letters":
        word = arguments["word"]
        return True, f"{word} has {len(word)} letters."
    return False, f"error: executor_missing: this bridge has no tool {tool_id}"


def perform(effect, epoch, held):
    """Does the work of one effect, and reports it."""
    session, effect_id = effect["session_id"], effect["effect_id"]

    def report(name, event):
        leases = [{"effect_id": effect_id, "epoch": epoch}]
        events = [{"event_id": f"{effect_id}/{name}", **event}]
        post(f"/v1/sessions/{session}/events", {"owner": OWNER, "leases": leases, "events": events})

    try:
        if effect["kind"] == "llm.generate":
            turn = {"kind": "ToolCallsObserved", "run_id": effect["run_id"], "turn": effect["turn"]}
            report("observed", {**turn, **ask_model(effect)})
        elif effect["kind"] == "tool.call":
            run_call(effect, report)
        elif effect["kind"] == "batch.settle":
            report("settled", {"kind": "ToolBatchSettled", "batch_id": effect["batch_id"], "plan_hash": effect["plan_hash"]})
    except Refused as refused:
        print(f"{effect_id}: {refused}", flush=True)
    finally:
        held.pop(effect_id, None)


def run_call(effect, report):
    call = {key: effect[key] for key in ("batch_id", "call_id", "plan_hash", "attempt")}
    if not effect["read_only"]:
        report("started", {"kind": "ToolCallStarted", "owner": OWNER, **call})
    arguments = effect.get("arguments")
    # Large arguments come as a reference to a blob; this bridge has no tool that takes any.
    if arguments is None or digest(arguments) != effect["arguments_digest"]:
        success, text = False, "error: arguments_mismatch: the arguments are not those of the plan"
    else:
        try:
            success, text = run_tool(effect["tool_id"], arguments)
        except Exception as error:  # A tool that throws is a failed call, not a dead bridge.
            success, text = False, f"error: tool_threw: {error}"
    outcome = {"outcome": "succeeded"} if success else {"outcome": "failed", "code": "tool_failed"}
    report("settled", {"kind": "ToolCallSettled", **call, "result": {"success": success}, "output": {"text": text}, **outcome})


def keep_alive(held):
    """Extends the leases, every third of the time they last."""
    while True:
        time.sleep(min((lease["ttl_ms"] for lease in list(held.values())), default=1_000) / 3_000)
        leases = [{key: lease[key] for key in ("session_id", "effect_id", "epoch")} for lease in list(held.values())]
        if not leases:
            continue
        try:
            for lost in post("/v1/leases/heartbeat", {"owner": OWNER, "leases": leases})["lost"]:
                held.pop(lost["effect_id"], None)
        except Refused as refused:
            print(f"heartbeat: {refused}", flush=True)


def main():
    held = {}
    threading.Thread(target=keep_alive, args=(held,), daemon=True).start()
    kinds = ["llm.generate", "tool.call", "batch.settle"]
    wanted = {"owner": OWNER, "kinds": kinds, "tools": ["words.*"], "max": 16, "wait_ms": WAIT_MS}
    while True:
        grant = post("/v1/leases", wanted, timeout=WAIT_MS / 1_000 + 10)
        for effect, epoch in zip(grant["effects"], grant["epochs"]):
            key = {"session_id": effect["session_id"], "effect_id": effect["effect_id"], "epoch": epoch}
            held[effect["effect_id"]] = {**key, "ttl_ms": grant["ttl_ms"]}
        # In the order of the grant, which is that of the plan: what a call waits for comes before it.
        for effect, epoch in zip(grant["effects"], grant["epochs"]):
            if effect["effect_id"] in held:
                perform(effect, epoch, held)


if __name__ == "__main__":
    main()
