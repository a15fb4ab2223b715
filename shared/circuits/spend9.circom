pragma circom 2.1.6;

include "lib/join-split.circom";

// A private transfer or a withdrawal that needs many notes, or gathers them: nine notes become four
// (recipient, change, service fee, developer fee).
component main {public [context, root, asset, amountOut, nullifiers, commitments]} = Spend(9, 4, 16);
