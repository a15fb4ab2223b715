"""The primitives that shared/protocol/SPEC.md names, in Python's standard library alone. Plain and slow, and not in constant
time: an example to read and to test against, not a wallet."""
import hmac
from functools import lru_cache

R = 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001  # section 1


def word(x):
    return x.to_bytes(32, "big")


# ---- section 1.1: Poseidon

PARTIAL_ROUNDS = {3: 57, 4: 56, 5: 60}  # by t = inputs + 1


@lru_cache(None)
def tables(t):
    fields = [(1, 2), (0, 4), (254, 12), (t, 12), (8, 10), (PARTIAL_ROUNDS[t], 10), (2**30 - 1, 30)]
    register = [int(bit) for number, size in fields for bit in format(number, f"0{size}b")]

    def step():
        bit = 0
        for at in (62, 51, 38, 23, 13, 0):
            bit ^= register[at]
        register.append(bit)
        del register[0]
        return bit

    def number():
        value = drawn = 0
        while drawn < 254:
            first, second = step(), step()
            if first:
                value, drawn = value << 1 | second, drawn + 1
        return value

    for _ in range(160):
        step()
    constants = []
    while len(constants) < (8 + PARTIAL_ROUNDS[t]) * t:
        value = number()
        if value < R:
            constants.append(value)
    x = [number() % R for _ in range(t)]
    y = [number() % R for _ in range(t)]
    return constants, [[pow(a + b, -1, R) for b in y] for a in x]


def poseidon(*inputs):
    t = len(inputs) + 1
    constants, matrix = tables(t)
    state, rounds = [0, *inputs], 8 + PARTIAL_ROUNDS[t]
    for n in range(rounds):
        state = [(s + c) % R for s, c in zip(state, constants[n * t :])]
        is_full = n < 4 or n >= rounds - 4
        state = [pow(s, 5, R) if is_full or i == 0 else s for i, s in enumerate(state)]
        state = [sum(m * s for m, s in zip(row, state)) % R for row in matrix]
    return state[0]


# ---- Keccak-256 as Ethereum uses it (padding 0x01)


def keccak(data):
    mask = 2**64 - 1
    rotate = lambda v, n: ((v << n) | (v >> (64 - n))) & mask if n else v
    data = bytearray(data + b"\x01" + bytes(135 - len(data) % 136))
    data[-1] |= 0x80
    lanes = [[0] * 5 for _ in range(5)]
    for block in range(0, len(data), 136):
        for i in range(17):
            lanes[i % 5][i // 5] ^= int.from_bytes(data[block + 8 * i : block + 8 * i + 8], "little")
        lfsr = 1
        for _ in range(24):
            c = [column[0] ^ column[1] ^ column[2] ^ column[3] ^ column[4] for column in lanes]
            for x in range(5):
                d = c[(x - 1) % 5] ^ rotate(c[(x + 1) % 5], 1)
                lanes[x] = [lane ^ d for lane in lanes[x]]
            x, y, current = 1, 0, lanes[1][0]
            for n in range(24):
                x, y = y, (2 * x + 3 * y) % 5
                current, lanes[x][y] = lanes[x][y], rotate(current, (n + 1) * (n + 2) // 2 % 64)
            for y in range(5):
                row = [lanes[x][y] for x in range(5)]
                for x in range(5):
                    lanes[x][y] = row[x] ^ (~row[(x + 1) % 5] & mask & row[(x + 2) % 5])
            for j in range(7):
                if lfsr & 1:
                    lanes[0][0] ^= 1 << ((1 << j) - 1)
                lfsr = (lfsr << 1 ^ (lfsr >> 7) * 0x171) & 0xFF
    return b"".join(lanes[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


# ---- HKDF-SHA-256 without salt (RFC 5869), X25519 (RFC 7748)


def hkdf(secret, info, length):
    key, out, block = hmac.digest(bytes(32), secret, "sha256"), b"", b""
    while len(out) < length:
        block = hmac.digest(key, block + info + bytes([len(out) // 32 + 1]), "sha256")
        out += block
    return out[:length]


P = 2**255 - 19


def x25519(secret, point=(9).to_bytes(32, "little")):
    k = int.from_bytes(secret, "little") & ~7 & (2**255 - 1) | 2**254
    u = int.from_bytes(point, "little") & (2**255 - 1)
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap != bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        x3, z3 = (da + cb) ** 2 % P, u * (da - cb) ** 2 % P
        e = aa - bb
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
    if swap:
        x2, z2 = x3, z3
    shared = (x2 * pow(z2, -1, P) % P if z2 else 0).to_bytes(32, "little")
    if shared == bytes(32):
        raise ValueError("a shared secret of zero")  # section 3
    return shared


# ---- XChaCha20-Poly1305 without associated data (RFC 8439, draft-irtf-cfrg-xchacha)


def chacha_rounds(key, nonce):
    """The state after 20 rounds, before anything is added; `nonce` is all 16 bytes after the key."""
    s = [int.from_bytes((b"expand 32-byte k" + key + nonce)[4 * i : 4 * i + 4], "little") for i in range(16)]
    initial = list(s)
    columns = [(i, 4 + i, 8 + i, 12 + i) for i in range(4)]
    diagonals = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
    for a, b, c, d in (columns + diagonals) * 10:
        for to, by, out, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[to] = (s[to] + s[by]) & 0xFFFFFFFF
            x = s[out] ^ s[to]
            s[out] = (x << bits | x >> (32 - bits)) & 0xFFFFFFFF
    return s, initial


def little(words):
    return b"".join((w & 0xFFFFFFFF).to_bytes(4, "little") for w in words)


def keystream(key, nonce, length):
    rounds, _ = chacha_rounds(key, nonce[:16])
    subkey = little(rounds[:4] + rounds[12:])
    blocks = []
    for counter in range(length // 64 + 2):
        after, before = chacha_rounds(subkey, counter.to_bytes(4, "little") + bytes(4) + nonce[16:])
        blocks.append(little(a + b for a, b in zip(after, before)))
    return blocks[0][:32], b"".join(blocks[1:])[:length]


def poly1305(key, sealed):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    data = sealed + bytes(-len(sealed) % 16) + bytes(8) + len(sealed).to_bytes(8, "little")
    total = 0
    for at in range(0, len(data), 16):
        total = (total + int.from_bytes(data[at : at + 16] + b"\x01", "little")) * r % (2**130 - 5)
    return (total + int.from_bytes(key[16:], "little")).to_bytes(17, "little")[:16]


def seal(key, nonce, plain):
    one_time, stream = keystream(key, nonce, len(plain))
    sealed = bytes(a ^ b for a, b in zip(plain, stream))
    return sealed + poly1305(one_time, sealed)


def unseal(key, nonce, box):
    """None when it was not sealed with this key."""
    sealed, tag = box[:-16], box[-16:]
    one_time, stream = keystream(key, nonce, len(sealed))
    is_ours = hmac.compare_digest(poly1305(one_time, sealed), tag)
    return bytes(a ^ b for a, b in zip(sealed, stream)) if is_ours else None
