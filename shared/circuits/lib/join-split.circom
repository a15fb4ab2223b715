pragma circom 2.1.6;

include "poseidon.circom";
include "merkle.circom";
include "note.circom";
include "value.circom";

// Spends nIn notes of one owner and one asset and makes nOut notes of that asset; value may
// enter or leave the pool in public. Every statement of the protocol is an instance of it:
// what an instance lacks, its wrapper below fixes to 0.
//
// Shows:  the prover holds the spending key of every note spent, each of them is in the tree
//         under `root` or worth nothing, and no value appears from nowhere.
// Leaves: to the pool: that `root` was once a root, that no nullifier was seen before, that
//         every public signal is below the field's order, what `context` binds, and that
//         `asset` is an address it knows. The makers of outputs are not checked: who gives
//         a note to a nonsensical `npk` destroys their own value only.
template JoinSplit(nIn, nOut, depth) {
    // Public
    signal input context;         // what the pool will obey, hashed; see step 6
    signal input root;
    signal input asset;           // 0 when nothing enters or leaves in public; see step 5
    signal input amountIn;        // enters the pool in the clear
    signal input amountOut;       // leaves the pool in the clear
    signal input nullifiers[nIn];
    signal input commitments[nOut];

    // Private
    signal input spendingKey;     // one owner for all notes spent
    signal input noteAsset;       // one asset for all notes, spent and made
    signal input inValues[nIn];
    signal input inBlindings[nIn];
    signal input inLeafIndices[nIn];
    signal input inPathElements[nIn][depth][3];
    signal input outNpks[nOut];   // the sender computes H(owner, blinding) itself
    signal input outValues[nOut];

    var total = amountIn;

    // 1. Each note spent is the spender's: its npk is rebuilt from the spending key, so a
    //    stranger's note has another commitment, and a note's value or asset cannot be
    //    restated. The nullifier has one value only for one note at one place.
    component keys;
    if (nIn > 0) {
        keys = SpenderKeys();
        keys.spendingKey <== spendingKey;
    }
    signal inNpks[nIn];
    signal inCommitments[nIn];
    signal inNullifiers[nIn];
    signal inRoots[nIn];
    for (var i = 0; i < nIn; i++) {
        inNpks[i] <== Poseidon(2)([keys.owner, inBlindings[i]]);
        inCommitments[i] <== NoteCommitment()(inNpks[i], noteAsset, inValues[i]);
        inNullifiers[i] <== Nullifier()(keys.nullifierKey, inCommitments[i], inLeafIndices[i]);
        nullifiers[i] === inNullifiers[i];

        // 2. It is in the tree, or worth nothing: a payment from one note fills its other
        //    places with notes of value 0 that no tree holds.
        inRoots[i] <== MerkleRoot(depth)(inCommitments[i], inLeafIndices[i], inPathElements[i]);
        inValues[i] * (inRoots[i] - root) === 0;

        Value()(inValues[i]);
        total += inValues[i];
    }

    //    One note put into two places would count twice while the pool marks it once.
    if (nIn > 1) {
        AllDistinct(nIn)(nullifiers);
    }

    // 3. Each note made is worth what the balance below counts.
    signal outCommitments[nOut];
    for (var j = 0; j < nOut; j++) {
        outCommitments[j] <== NoteCommitment()(outNpks[j], noteAsset, outValues[j]);
        commitments[j] === outCommitments[j];
        Value()(outValues[j]);
        total -= outValues[j];
    }

    // 4. Value is conserved. All terms are in range, so the equation holds for integers:
    //    change below zero, or a sum that wraps around the field's order, has no witness.
    Value()(amountIn);
    Value()(amountOut);
    total === amountOut;

    // 5. The asset in public. A statement without notes to spend is a deposit: the pool
    //    takes the token in the open, so asset is always shown.
    if (nIn == 0) {
        asset === noteAsset;
    } else {
        ShownAsset()(noteAsset, amountOut, asset);
    }

    // 6. `context` takes part in no step above. The square puts it under a constraint of
    //    this circuit, so the tie to recipient, ciphertexts, deadline, chain and pool does
    //    not rest on the setup tool.
    signal contextSquared <== context * context;
}

// Value enters in public and becomes nOut notes. No key is proven: anyone may pay anyone.
template Deposit(nOut, depth) {
    // Public, in the order of the protocol
    signal input context;
    signal input asset;
    signal input amountIn;
    signal input commitments[nOut];

    // Private
    signal input outNpks[nOut];
    signal input outValues[nOut];

    component statement = JoinSplit(0, nOut, depth);
    statement.context <== context;
    statement.root <== 0;
    statement.asset <== asset;
    statement.amountIn <== amountIn;
    statement.amountOut <== 0;
    statement.commitments <== commitments;
    statement.spendingKey <== 0;
    statement.noteAsset <== asset;
    statement.outNpks <== outNpks;
    statement.outValues <== outValues;
}

// nIn notes become nOut notes; value may leave in public, none enters.
template Spend(nIn, nOut, depth) {
    // Public, in the order of the protocol
    signal input context;
    signal input root;
    signal input asset;
    signal input amountOut;
    signal input nullifiers[nIn];
    signal input commitments[nOut];

    // Private
    signal input spendingKey;
    signal input noteAsset;
    signal input inValues[nIn];
    signal input inBlindings[nIn];
    signal input inLeafIndices[nIn];
    signal input inPathElements[nIn][depth][3];
    signal input outNpks[nOut];
    signal input outValues[nOut];

    component statement = JoinSplit(nIn, nOut, depth);
    statement.context <== context;
    statement.root <== root;
    statement.asset <== asset;
    statement.amountIn <== 0;
    statement.amountOut <== amountOut;
    statement.nullifiers <== nullifiers;
    statement.commitments <== commitments;
    statement.spendingKey <== spendingKey;
    statement.noteAsset <== noteAsset;
    statement.inValues <== inValues;
    statement.inBlindings <== inBlindings;
    statement.inLeafIndices <== inLeafIndices;
    statement.inPathElements <== inPathElements;
    statement.outNpks <== outNpks;
    statement.outValues <== outValues;
}
