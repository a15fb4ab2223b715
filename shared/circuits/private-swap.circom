pragma circom 2.1.6;

include "lib/join-split.circom";

// The private side of a swap: two notes become three (change, service fee, developer fee) and amountOut
// goes to the venue. The note of what comes back is made by the pool, which measures its value; no
// circuit could know it.
component main {public [context, root, asset, amountOut, nullifiers, commitments]} = Spend(2, 3, 16);
