pragma circom 2.1.6;

include "bitify.circom";
include "poseidon.circom";

// Puts `node` at place `digit` (two bits, low one first) among its three siblings, which
// keep their order.
template Place() {
    signal input node;
    signal input siblings[3];
    signal input bits[2];         // already known to be 0 or 1
    signal output children[4];

    // 1. The digit as four flags, one of which is 1.
    signal isThird <== bits[0] * bits[1];
    var isZeroth = 1 - bits[0] - bits[1] + isThird;
    var isFirst = bits[0] - isThird;

    // 2. The outer places choose between the node and one sibling.
    children[0] <== siblings[0] + isZeroth * (node - siblings[0]);
    children[3] <== siblings[2] + isThird * (node - siblings[2]);

    // 3. The second place holds siblings[0], the node, or siblings[1].
    signal fromLeft <== isZeroth * (siblings[0] - siblings[1]);
    children[1] <== siblings[1] + fromLeft + isFirst * (node - siblings[1]);

    // 4. The four children are the node and its siblings in some order, so the last
    //    one is what the others leave over.
    children[2] <== node + siblings[0] + siblings[1] + siblings[2]
        - children[0] - children[1] - children[3];
}

// The root of a quaternary tree from a leaf and its path.
//
// Shows:  `leaf` stands at `leafIndex` under `root`.
// Leaves: the comparison of `root` with a root the pool knows to the caller.
// The depth is a constant of the circuit: a leaf can never pose as an inner node, nor an
// inner node as a leaf. Exactly 2 * depth bits are read from the index; a longer one would
// give one leaf many indices, hence many nullifiers.
template MerkleRoot(depth) {
    signal input leaf;
    signal input leafIndex;
    signal input pathElements[depth][3];
    signal output root;

    signal bits[2 * depth] <== Num2Bits(2 * depth)(leafIndex);

    signal nodes[depth + 1];
    signal children[depth][4];
    nodes[0] <== leaf;
    for (var level = 0; level < depth; level++) {
        children[level] <== Place()(
            nodes[level],
            pathElements[level],
            [bits[2 * level], bits[2 * level + 1]]
        );
        nodes[level + 1] <== Poseidon(4)(children[level]);
    }
    root <== nodes[depth];
}
