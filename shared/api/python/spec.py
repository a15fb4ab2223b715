"""Sections 2 to 6 of shared/protocol/SPEC.md, written from that text: keys, addresses, notes, tree, and a private transfer as
a request without its proof."""
import secrets

from arithmetic import P, R, hkdf, keccak, poseidon, seal, unseal, word, x25519

# ---- section 2: keys and addresses


class Keys:
    def __init__(self, seed):
        self.spending = int.from_bytes(hkdf(seed, b"cloister/spending-key/v1", 48), "big") % R
        self.nullifier = poseidon(self.spending, 1)
        self.owner = poseidon(poseidon(self.spending, 0), self.nullifier)
        self.viewing_secret = hkdf(word(self.spending), b"cloister/viewing-key/v1", 32)
        self.viewing = x25519(self.viewing_secret)


CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def checksum(prefix, data):
    values = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + data + [0] * 6
    state = 1
    for value in values:
        top, state = state >> 25, (state & 0x1FFFFFF) << 5 ^ value
        for i, g in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            state ^= g if top >> i & 1 else 0
    return [(state ^ 0x2BC830A3) >> 5 * (5 - i) & 31 for i in range(6)]


def write_address(prefix, owner, viewing):
    number = int.from_bytes(b"\x01" + word(owner) + viewing, "big")
    data = [number >> 5 * (103 - i) & 31 for i in range(104)]
    return prefix + "1" + "".join(CHARSET[i] for i in data + checksum(prefix, data))


def read_address(text, prefix):
    """Owner and viewing key of an address of this network."""
    lower = text.lower()
    if text not in (lower, text.upper()) or lower[: len(prefix) + 1] != prefix + "1":
        raise ValueError("an address of another network, or none")
    data = [CHARSET.find(c) for c in lower[len(prefix) + 1 :]]
    if len(data) != 110 or -1 in data or checksum(prefix, data[:-6]) != data[-6:]:
        raise ValueError("an address with a typing error")
    number = 0
    for value in data[:-6]:
        number = number << 5 | value
    raw = number.to_bytes(65, "big")
    owner = int.from_bytes(raw[1:33], "big")
    if raw[0] != 1 or owner >= R or int.from_bytes(raw[33:], "little") >= P:
        raise ValueError("an address of an unknown form")
    return owner, raw[33:]


# ---- section 3: notes and ciphertexts


class NoteKeys:
    def __init__(self, shared, ephemeral_key, viewing, output):
        info = b"cloister/note/v2" + ephemeral_key + viewing + bytes([output])
        stream = hkdf(shared, info, 121)
        self.key, self.nonce, self.tag = stream[:32], stream[32:56], stream[56:57]
        self.blinding = int.from_bytes(stream[57:], "big") % R

    def ciphertext(self, asset, value):
        return self.tag + seal(self.key, self.nonce, asset.to_bytes(20, "big") + value.to_bytes(16, "big"))

    def open(self, ciphertext):
        """(asset, value), or None for a note of somebody else."""
        plain = unseal(self.key, self.nonce, ciphertext[1:]) if ciphertext[:1] == self.tag else None
        return None if plain is None else (int.from_bytes(plain[:20], "big"), int.from_bytes(plain[20:], "big"))


# ---- section 4: the tree

EMPTY = [0]
for _ in range(16):
    EMPTY.append(poseidon(*[EMPTY[-1]] * 4))


def tree_levels(leaves):
    """All 17 levels, the leaves first; beyond a level's last node it is empty."""
    levels = [list(leaves)]
    for level in range(16):
        nodes = levels[-1] + [EMPTY[level]] * (-len(levels[-1]) % 4)
        levels.append([poseidon(*nodes[i : i + 4]) for i in range(0, len(nodes), 4)])
    return levels


def path(levels, index):
    """Section 6's inPathElements of a leaf: the three siblings at each level."""
    siblings = []
    for level in range(16):
        at, first = index >> 2 * level, (index >> 2 * level) // 4 * 4
        nodes = levels[level]
        siblings.append([nodes[i] if i < len(nodes) else EMPTY[level] for i in range(first, first + 4) if i != at])
    return siblings


# ---- sections 3 and 8: a leaf of the stream, tried with a viewing key


def number(text):
    return int(text, 16)


def note_of(keys, shared, leaf):
    """The note of an event `leaf` of the stream if it is of this key, else None. `shared` is the statement's X25519 secret."""
    public = bytes.fromhex(leaf["ephemeral_key"][2:])
    derived = NoteKeys(shared, public, keys.viewing, leaf["output"])
    opened = derived.open(bytes.fromhex(leaf["ciphertext"][2:]))
    if opened is None:
        return None
    asset, value = opened
    if "npk" in leaf:  # the pool made this note, and says what it holds
        asset, value = number(leaf["asset"]), int(leaf["value"])
    commitment, index = number(leaf["commitment"]), leaf["index"]
    if value == 0 or poseidon(poseidon(keys.owner, derived.blinding), asset, value) != commitment:
        return None
    nullifier = poseidon(keys.nullifier, commitment, index)
    return {"asset": asset, "value": value, "blinding": derived.blinding, "index": index, "nullifier": nullifier}


# ---- sections 5 and 6: a private transfer


def transfer(info, keys, notes, levels, asset, outputs, deadline):
    """Body of /sequence/spend without proof and signals, and the witness that gives these. `outputs` are four: (address,
    value, whether it is a fee note that is to be opened), or None for one that nobody reads. Inputs and outputs must balance."""
    secret = secrets.token_bytes(32)
    ephemeral = x25519(secret)
    made, ciphertexts, fees = [], [], []
    for place, output in enumerate(outputs):
        address, value, is_opened = output or (None, 0, False)
        nobody = (secrets.randbelow(R), x25519(secrets.token_bytes(32)))
        owner, viewing = read_address(address, info["address_prefix"]) if output else nobody
        derived = NoteKeys(x25519(secret, viewing), ephemeral, viewing, place)
        made.append((poseidon(owner, derived.blinding), value))
        ciphertexts.append(derived.ciphertext(asset, value))
        if is_opened:
            blinding = "0x" + word(derived.blinding).hex()
            fees.append({"output": place, "asset": f"0x{asset:040x}", "blinding": blinding, "value": str(value)})
    spent = list(notes)
    while len(spent) < 2:
        unused = {"value": 0, "index": 0, "blinding": secrets.randbelow(R)}
        commitment = poseidon(poseidon(keys.owner, unused["blinding"]), asset, 0)
        spent.append({**unused, "nullifier": poseidon(keys.nullifier, commitment, 0)})
    ext = bytes(20) + ephemeral + b"".join(ciphertexts)
    bound = (info["chain_id"], number(info["pool"]), 2, deadline, int.from_bytes(keccak(ext), "big"))
    witness = {
        "context": int.from_bytes(keccak(b"".join(map(word, bound))), "big") % R,
        "root": levels[16][0],
        "asset": 0,
        "amountOut": 0,
        "nullifiers": [note["nullifier"] for note in spent],
        "commitments": [poseidon(npk, asset, value) for npk, value in made],
        "spendingKey": keys.spending,
        "noteAsset": asset,
        "inValues": [note["value"] for note in spent],
        "inBlindings": [note["blinding"] for note in spent],
        "inLeafIndices": [note["index"] for note in spent],
        "inPathElements": [path(levels, note["index"]) for note in spent],
        "outNpks": [npk for npk, _ in made],
        "outValues": [value for _, value in made],
    }
    wire = {"recipient": "0x" + "00" * 20, "ephemeral_key": "0x" + ephemeral.hex()}
    wire["ciphertexts"] = ["0x" + each.hex() for each in ciphertexts]
    return {"deadline": deadline, "ext": wire, "fees": fees}, witness
