/** What a statement's request is made of: the proof, what it is bound to, and the openings of its fee notes. */
import * as z from "./zod.ts";
import { address, amount, fieldElement, unixSeconds } from "./values.ts";

/** snarkjs's own Groth16 proof object; coordinates are decimal strings. */
const coordinate = z
  .string()
  .max(77)
  .regex(/^(0|[1-9][0-9]*)$/, "a decimal integer without sign or leading zero")
  .describe("Decimal integer below q");
const fp2 = z.tuple([coordinate, coordinate]);
export const proof = z
  .strictObject({
    pi_a: z.tuple([coordinate, coordinate, coordinate]).describe("Point A of G1: x, y, 1"),
    pi_b: z
      .tuple([fp2, fp2, fp2])
      .describe("Point B of G2: x, y, (1, 0); each the real part, then the imaginary"),
    pi_c: z.tuple([coordinate, coordinate, coordinate]).describe("Point C of G1: x, y, 1"),
    protocol: z
      .literal("groth16")
      .meta({ description: "Proof system", "x-enumDescriptions": { groth16: "Groth16" } }),
    curve: z
      .literal("bn128")
      .optional()
      .meta({ description: "Curve", "x-enumDescriptions": { bn128: "BN254, by snarkjs's name for it" } }),
  })
  .meta({
    id: "Groth16Proof",
    description:
      "A proof as snarkjs's `groth16.fullProve` gives it: decimal strings below q (SPEC, section 1). It is of one kind's circuit; anybody can make another proof of the same statement from it",
  });

/** 53 bytes: view tag 1, sealed note 36, authentication tag 16. */
export const ciphertext = z
  .string()
  .regex(/^0x([0-9a-fA-F]{2}){53}$/, "0x and 53 bytes of hex")
  .describe("0x and 53 bytes: view tag 1, sealed note 36, authentication tag 16 (SPEC, section 3)");
export const ephemeralKey = z
  .string()
  .regex(/^0x([0-9a-fA-F]{2}){32}$/, "0x and 32 bytes of hex")
  .meta({
    description:
      "0x and 32 bytes: X25519 public key of a secret drawn for this statement alone, under which all ciphertexts stand (SPEC, section 3)",
  });

export const depositExt = z
  .strictObject({
    depositor: address.describe("Account whose public money is deposited; not zero"),
    valid_after: unixSeconds.describe("EIP-3009's validAfter of the authorization: good after this time"),
    valid_before: unixSeconds.describe("EIP-3009's validBefore: good before this time; above valid_after"),
    ephemeral_key: ephemeralKey,
    ciphertexts: z
      .array(ciphertext)
      .length(3)
      .describe("One for each output, dummies included: user, service fee, developer fee"),
  })
  .meta({
    id: "DepositExt",
    description:
      "What a deposit does beyond its proof. Its bytes (SPEC, section 5) are hashed into `context`",
  });

export const spendExt = z
  .strictObject({
    recipient: address.meta({
      description: "Public account that a withdrawal pays; the zero address for a private transfer",
    }),
    ephemeral_key: ephemeralKey,
    ciphertexts: z
      .array(ciphertext)
      .length(4)
      .describe("One for each output, dummies included: recipient, change, service fee, developer fee"),
  })
  .meta({
    id: "SpendExt",
    description:
      "What a transfer or withdrawal does beyond its proof. Its bytes (SPEC, section 5) are hashed into `context`",
  });

export const swapExt = z
  .strictObject({
    token_out: address.describe("Token that is bought; not the statement's asset"),
    min_amount_out: amount.meta({
      description: "The floor, not zero: with less than this the swap fails and the notes stay unspent",
    }),
    path: z
      .string()
      .regex(
        /^0x([0-9a-fA-F]{86}|[0-9a-fA-F]{132})$/,
        "0x and the 43 or 66 bytes of a path of one or two pools",
      )
      .meta({
        description:
          "Uniswap v3's packed path (token 20 bytes, fee 3, token 20 …): begins with the statement's asset, ends with token_out",
      }),
    npk_out: fieldElement.meta({
      description: "Whose note the bought tokens become: H2(owner, blinding), SPEC, section 3",
    }),
    ephemeral_key: ephemeralKey,
    ciphertexts: z.array(ciphertext).length(4).meta({
      description:
        "Of change, service fee, developer fee, and of the note that the pool makes of what it received",
    }),
  })
  .meta({
    id: "SwapExt",
    description: "What a swap does beyond its proof. Its bytes (SPEC, section 5) are hashed into `context`",
  });

/** Opens a fee note: commitments[output] must be H(H(owner of the sink, blinding), asset, value). */
export const feeOpening = z
  .strictObject({
    output: z
      .int()
      .min(0)
      .max(15)
      .describe(
        "Which of the statement's commitments, from 0: in a spend 2 is the service's, 3 the developer's",
      ),
    asset: address.describe("Token of the note"),
    blinding: fieldElement.describe("The note's blinding, as derived for its ciphertext"),
    value: amount.describe("The note's value: at least the fee in force"),
  })
  .meta({
    id: "FeeOpening",
    description:
      "Opens a fee note so that the service can check it: commitments[output] must be H3(H2(owner of the sink, blinding), asset, value)",
  });
