"""One private payment, as a program in another language makes it: written from the OpenAPI document and
shared/protocol/SPEC.md alone, in Python 3.11's standard library. The proof is made by the project's prover."""
import argparse
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

from arithmetic import x25519
from spec import Keys, note_of, number, transfer, tree_levels, write_address

HELP = """The seed (64 hex digits) is read from CLOISTER_SEED and the API key from CLOISTER_API_KEY: neither belongs on a command
line. Ends with one line of JSON, and with 0 when the payment was executed."""


class Service:
    def __init__(self, url, api_key):
        self.url, self.headers = url.rstrip("/"), {"X-API-Key": api_key, "Content-Type": "application/json"}

    def open(self, path, body=None, **headers):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {**self.headers, **headers})
        try:
            return urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as refused:
            problem = json.load(refused)
            sys.exit(f"{path}: {problem['code']}: {problem['detail']}")

    def json(self, path, body=None, **headers):
        with self.open(path, body, **headers) as answer:
            return json.load(answer)

    def events(self, kinds):
        """Kind and data of each event. A comment comes every 15 seconds, so silence ends in a timeout."""
        kind = data = ""
        with self.open(f"/events/stream?types={kinds}") as stream:
            for line in (raw.decode().rstrip("\n") for raw in stream):
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    data = value
                elif line == "" and kind:
                    yield kind, json.loads(data)
                    kind = data = ""


def spendable(service, keys, asset, needed):
    """Two notes that hold so much, and the leaves under the newest root, which covers them."""
    leaves, notes, spent, covered, is_told = [], [], set(), 0, False
    known = shared = None
    for kind, data in service.events("leaf,nullifier,root,void,reorg,synced"):
        if kind == "leaf":
            leaves.append(number(data["commitment"]))
            if data["ephemeral_key"] != known:  # one multiplication for all leaves of a statement
                known = data["ephemeral_key"]
                shared = x25519(keys.viewing_secret, bytes.fromhex(known[2:]))
            note = note_of(keys, shared, data)
            notes += [note] if note and note["asset"] == asset else []
        elif kind == "nullifier":
            spent.add(number(data["nullifier"]))
        elif kind == "root":
            root, covered = number(data["root"]), data["leaf_count"]
        elif kind == "void":  # refuted: these leaves stand as empty, and what made them spent nothing
            first, end = data["first_leaf_index"], data["first_leaf_index"] + data["count"]
            leaves[first:end] = [0] * (end - first)
            notes = [note for note in notes if not first <= note["index"] < end]
            spent -= {number(each) for each in data["nullifiers"]}
        elif kind == "reorg":
            sys.exit("the chain went back while it was read: begin again")
        is_told = is_told or kind == "synced"
        unspent = [note for note in notes if note["nullifier"] not in spent]
        best = sorted((n for n in unspent if n["index"] < covered), key=lambda n: -n["value"])[:2]
        if is_told and sum(note["value"] for note in best) >= needed:
            levels = tree_levels(leaves[:covered])
            return (best, levels) if levels[16] == [root] else sys.exit("the leaves do not give the root")
        if is_told and covered == len(leaves):
            sys.exit(f"no two notes of this key hold {needed}")


def fees_of(service, asset, amount):
    """Two outputs of a transfer, for the service and for the developer; None where nothing is due."""
    rules = service.json("/whoami")["fees"]
    rule = next((r for r in rules if number(r["asset"]) == asset and r["operation"] == "transfer"), {})
    for part in (rule.get("service"), rule.get("developer")):
        fee = int(part["flat"]) + amount * part["bps"] // 10_000 if part else 0
        yield (part["sink"], fee, part["enforced"]) if fee else None


def prove(command, witness):
    text = lambda value: [text(each) for each in value] if isinstance(value, list) else str(value)
    given = json.dumps({name: text(value) for name, value in witness.items()})
    done = subprocess.run([*command.split(), "spend"], input=given, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else sys.exit("there is no such proof")


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=HELP)
    parser.add_argument("--service", required=True, help="base address, such as http://127.0.0.1:8787")
    parser.add_argument("--to", required=True, help="the payee's shielded address")
    parser.add_argument("--amount", required=True, type=int, help="in the token's smallest units")
    parser.add_argument("--prover", default="npm run --silent prove --", help="takes a witness, gives a proof")
    typed = parser.parse_args()
    service = Service(typed.service, os.environ["CLOISTER_API_KEY"])
    keys = Keys(bytes.fromhex(os.environ["CLOISTER_SEED"]))

    info = service.json("/info")
    asset = number(info["assets"][0]["address"])
    fees = list(fees_of(service, asset, typed.amount))
    needed = typed.amount + sum(fee[1] for fee in fees if fee)
    notes, levels = spendable(service, keys, asset, needed)
    change = sum(note["value"] for note in notes) - needed
    own = write_address(info["address_prefix"], keys.owner, keys.viewing)
    outputs = [(typed.to, typed.amount, False), (own, change, False), *fees]
    request, witness = transfer(info, keys, notes, levels, asset, outputs, int(time.time()) + 900)
    request |= prove(typed.prover, witness)

    # Sent again with this key and this body it is still one payment.
    once = {"Idempotency-Key": str(uuid.uuid4()), "Prefer": "wait=10"}
    ticket = service.json("/sequence/spend", request, **once)
    while ticket["state"] in ("queued", "submitted"):
        print(ticket["state"], ticket.get("blocked_by", ""), file=sys.stderr)
        time.sleep(2)
        ticket = service.json(f"/sequence/ticket/{ticket['ticket_id']}")
    shown = {name: ticket[name] for name in ("ticket_id", "state", "tx_hash", "leaf_index", "error")}
    print(json.dumps({**shown, "paid": typed.amount, "fees": needed - typed.amount, "change": change}))
    return 0 if ticket["state"] in ("confirmed", "finalized") else 1


if __name__ == "__main__":
    sys.exit(main())
