pragma circom 2.1.6;

include "lib/join-split.circom";

// A private transfer or a withdrawal: two notes become four (recipient, change, service
// fee, developer fee).
component main {public [context, root, asset, amountOut, nullifiers, commitments]} = Spend(2, 4, 16);
