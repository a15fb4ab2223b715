// A proof of the right form that is worth nothing; see `TestService.verifiesProofs`. For pages too, so nothing of Node is here.
import type { SnarkjsProof } from "../../../shared/protocol/host/proofs.ts";

export const standInProof: SnarkjsProof = {
  pi_a: ["1", "2", "1"],
  pi_b: [
    ["3", "4"],
    ["5", "6"],
    ["1", "0"],
  ],
  pi_c: ["1", "2", "1"],
  protocol: "groth16",
  curve: "bn128",
};
