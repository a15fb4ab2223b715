/**
 * What both programs do: `node <program>.js <socket to listen on> <socket of the security module> <socket of the
 * verifiers>`. Boots, then listens: booting ends when a key is restored. Trusts nothing but the files of its image; see
 * README.md for the order in which to read them.
 */
import { readFile } from "node:fs/promises";
import { boot } from "./boot.ts";
import { dispatch } from "./dispatch.ts";
import { FrameServer } from "./frames.ts";
import type { OpenJudge } from "./judge.ts";
import { nitroPlatform } from "./nitro.ts";

/** This file is in dist/enclave/ of the image. */
const CONFIGURATION = `${import.meta.dirname}/../../configuration.json`;

export async function run(openJudge: OpenJudge): Promise<void> {
  const [listenPath, nsmPath, verifiersPath] = process.argv.slice(2);
  if (!listenPath || !nsmPath || !verifiersPath) throw new Error("three socket paths are needed");
  const platform = nitroPlatform({ listenPath, nsmPath, verifiersPath });
  const enclave = await boot(platform, () => readFile(CONFIGURATION, "utf8"), openJudge);
  const server = new FrameServer(platform, (request, payload) => dispatch(enclave, request, payload));
  await platform.listen((socket) => server.accept(socket));
}
