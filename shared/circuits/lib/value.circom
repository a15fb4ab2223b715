pragma circom 2.1.6;

include "bitify.circom";
include "comparators.circom";

// An amount that fits in 128 bits. The largest statement adds fewer than sixteen of
// them, so every sum stays below 2^132, far below the field's order: two sums that are
// equal in the field are equal as integers, and no negative amount (which the field
// shows as a number near its order) passes.
template Value() {
    signal input in;

    signal bits[128] <== Num2Bits(128)(in);
}

// What the public may know about the asset when value leaves the pool.
//
// Shows:  `asset` is the notes' asset when something leaves in public, and 0 when nothing does.
// Attack: an asset shown beside amount 0 would mark a private transfer; one hidden beside
//         an amount would let the pool pay in a token the notes never held.
template ShownAsset() {
    signal input noteAsset;
    signal input amountOut;
    signal input asset;

    signal isPrivate <== IsZero()(amountOut);
    asset === (1 - isPrivate) * noteAsset;
}

// Every two of n values differ. A product of differences would save constraints but hide
// which pair is meant; one inverse for each pair is the claim itself: only a number other
// than 0 has one.
template AllDistinct(n) {
    signal input in[n];

    var pairs = n * (n - 1) / 2;
    signal inverse[pairs];
    var pair = 0;
    for (var i = 0; i < n; i++) {
        for (var j = i + 1; j < n; j++) {
            inverse[pair] <-- 1 / (in[i] - in[j]);
            (in[i] - in[j]) * inverse[pair] === 1;
            pair++;
        }
    }
}
