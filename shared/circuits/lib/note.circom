pragma circom 2.1.6;

include "poseidon.circom";

// The keys that follow from a spending key. Only who knows `spendingKey` can name them
// inside a proof: neither `owner` nor the full viewing key leads back to it.
template SpenderKeys() {
    signal input spendingKey;
    signal output nullifierKey;
    signal output owner;

    signal authKey <== Poseidon(2)([spendingKey, 0]);
    nullifierKey <== Poseidon(2)([spendingKey, 1]);
    owner <== Poseidon(2)([authKey, nullifierKey]);
}

// A note as the tree holds it. `npk` hides the owner behind a blinding, so that a stranger
// (the pool after a swap, a deposit address) can complete the commitment with a value.
template NoteCommitment() {
    signal input npk;
    signal input asset;
    signal input value;
    signal output out;

    out <== Poseidon(3)([npk, asset, value]);
}

// What a spent note leaves behind. The leaf's index is inside, so two equal notes have two
// nullifiers and both can be spent; the key is inside, so the sender of a note does not see
// when it is spent.
template Nullifier() {
    signal input nullifierKey;
    signal input commitment;
    signal input leafIndex;
    signal output out;

    out <== Poseidon(3)([nullifierKey, commitment, leafIndex]);
}
