// The Python client's arithmetic against the test vectors: what an implementer in another language would do first.
import assert from "node:assert/strict";
import { PYTHON_CLIENT, python, requirePython } from "../../support/python.ts";

const CHECK = `
import json, sys
from arithmetic import keccak, poseidon, x25519
from spec import EMPTY, Keys, NoteKeys, number, path, read_address, tree_levels, write_address
raw = lambda text: bytes.fromhex(text[2:])
read = lambda name: json.load(open(f"test/support/vectors/{name}.json"))
done = 0
assert keccak(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
for it in read("keys")["seeds"]:
    keys, prefix = Keys(raw(it["seed"])), it["address"].split("1")[0]
    assert (keys.spending, keys.owner, keys.viewing) == (number(it["spendingKey"]), number(it["owner"]), raw(it["viewingKey"]))
    assert write_address(prefix, keys.owner, keys.viewing) == it["address"]
    assert read_address(it["address"].upper(), prefix) == (keys.owner, keys.viewing)
    done += 1
for it in read("notes")["notes"]:
    npk = poseidon(number(it["owner"]), number(it["blinding"]))
    commitment = poseidon(npk, number(it["asset"]), int(it["value"]))
    assert (npk, commitment) == (number(it["npk"]), number(it["commitment"]))
    assert poseidon(number(it["nullifierKey"]), commitment, it["leafIndex"]) == number(it["nullifier"])
    done += 1
for it in read("ciphertexts")["ciphertexts"]:
    shared = x25519(raw(it["viewingSecret"]), raw(it["ephemeralKey"]))
    assert shared == x25519(raw(it["ephemeralSecret"]), raw(it["viewingKey"]))
    keys = NoteKeys(shared, raw(it["ephemeralKey"]), raw(it["viewingKey"]), it["output"])
    assert keys.blinding == int(it["blinding"])
    assert keys.ciphertext(number(it["asset"]), int(it["value"])) == raw(it["ciphertext"])
    assert keys.open(raw(it["ciphertext"])) == (number(it["asset"]), int(it["value"]))
    assert keys.open(raw(it["ciphertext"])[:-1] + bytes([raw(it["ciphertext"])[-1] ^ 1])) is None
    done += 1
for it in read("tree")["trees"]:
    if it["count"] < 100:
        levels = tree_levels(range(1, it["count"] + 1))
        assert (levels[16] or [EMPTY[16]])[0] == number(it["root"])
        done += 1
print(done)
`;

/** Two notes of a key, one of them spent by a statement whose leaf is the other; then that statement is refuted. */
const REFUTED = `
from arithmetic import poseidon, x25519, word
from pay import spendable
from spec import Keys, NoteKeys, tree_levels
keys, secret, asset = Keys(bytes(31) + b"\\x01"), bytes(31) + b"\\x02", 7
public, shared = x25519(secret), x25519(secret, keys.viewing)
text = lambda number: "0x" + word(number).hex()
leaves, events = [], []
for index, value in enumerate([5, 9]):
    derived = NoteKeys(shared, public, keys.viewing, index)
    leaves.append(poseidon(poseidon(keys.owner, derived.blinding), asset, value))
    told = {"index": index, "commitment": text(leaves[-1]), "ephemeral_key": "0x" + public.hex(), "output": index}
    events.append(("leaf", {**told, "ciphertext": "0x" + derived.ciphertext(asset, value).hex()}))
nullifier = text(poseidon(keys.nullifier, leaves[0], 0))
root = lambda leaves: ("root", {"root": text(tree_levels(leaves)[16][0]), "leaf_count": len(leaves)})
events += [("nullifier", {"nullifier": nullifier}), root(leaves)]
class Told:
    def __init__(self, events):
        self.told = events
    def events(self, kinds):
        return iter(self.told + [("synced", {})])
before, _ = spendable(Told(events), keys, asset, 1)
events += [("void", {"first_leaf_index": 1, "count": 1, "nullifiers": [nullifier]}), root([leaves[0], 0])]
after, levels = spendable(Told(events), keys, asset, 1)
print([note["value"] for note in before], [note["value"] for note in after], levels[0] == [leaves[0], 0])
`;

describe("the Python client's arithmetic", function () {
  before(async function () {
    await requirePython(this);
  });

  it("gives the keys, addresses, notes, ciphertexts and roots of the vectors", async () => {
    const { code, stdout, stderr } = await python(["-c", CHECK], { PYTHONPATH: PYTHON_CLIENT });
    assert.equal(code, 0, stderr);
    assert.ok(Number(stdout) > 20, stdout);
  });

  it("takes a refuted statement's leaves out, and gives back what it had spent", async () => {
    const { code, stdout, stderr } = await python(["-c", REFUTED], { PYTHONPATH: PYTHON_CLIENT });
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "[9] [5] True\n");
  });
});
