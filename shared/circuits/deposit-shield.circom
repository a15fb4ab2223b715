pragma circom 2.1.6;

include "lib/join-split.circom";

// A deposit: three notes (user, service fee, developer fee).
component main {public [context, asset, amountIn, commitments]} = Deposit(3, 16);
