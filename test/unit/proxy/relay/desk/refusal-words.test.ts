// What contracts say when they refuse, put into words of ours; what a stranger's contract says is not passed on.
import assert from "node:assert/strict";
import { Interface } from "ethers";
import { refusalWords, textIn } from "../../../../../proxy/relay/desk/refusal-words.ts";

const ERRORS = new Interface([
  "error Error(string)",
  "error TransferRefused(bytes)",
  "error BelowMinimum(uint256)",
]);
const said = (text: string): string => ERRORS.encodeErrorResult("Error", [text]);
/** Whose code cuts off what it was told. */
const byVault = (data: string): string =>
  ERRORS.encodeErrorResult("TransferRefused", [data.slice(0, 2 + 256)]);

describe("relay/desk/refusal-words", () => {
  it("names limit, denylist, least fee and pause, whether a contract or a vault was told", () => {
    const texts = [
      ...["Burn amount exceeds per tx limit", "Denylistable: account is on denylist"],
      ...["Insufficient max fee", "Pausable: paused"],
    ];
    const words = texts.map((text) => refusalWords(byVault(said(text))));
    assert.equal(new Set(words).size, texts.length);
    assert.ok(!words.includes(undefined));
    assert.deepEqual(
      texts.map((text) => refusalWords(said(text))),
      words,
    );
  });

  it("has no words for anything else, and passes nobody's text on", () => {
    const strange = [
      ...[said("send your key to example.org"), said("constructor"), said(""), byVault("0x")],
      ...[
        ERRORS.encodeErrorResult("BelowMinimum", [1n]),
        "0x",
        "0x08c379a0",
        "",
        byVault(byVault("0x08c379a0ff")),
      ],
    ];
    for (const data of strange) assert.equal(refusalWords(data), undefined, data);
    assert.equal(textIn(byVault(said("Pausable: paused"))), "Pausable: paused");
  });
});
