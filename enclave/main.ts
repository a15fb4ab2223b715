/**
 * `node main.js <socket to listen on> <socket of the security module>`. Boots, then listens: booting ends when a
 * key is restored. Trusts nothing but the files of its image; see README.md for the order in which to read them.
 */
import { readFile } from "node:fs/promises";
import { boot } from "./boot.ts";
import { dispatch } from "./dispatch.ts";
import { FrameServer } from "./frames.ts";
import { nitroPlatform } from "./nitro.ts";

const [listenPath, nsmPath] = process.argv.slice(2);
if (listenPath === undefined || nsmPath === undefined) throw new Error("two socket paths are needed");

// This file is in dist/enclave/ of the image.
const here = import.meta.dirname;
const platform = nitroPlatform({ listenPath, nsmPath, verifierPath: `${here}/verifier.js` });
const enclave = await boot(platform, () => readFile(`${here}/../../configuration.json`, "utf8"));
const server = new FrameServer(platform, (request) => dispatch(enclave, request));
await platform.listen((socket) => server.accept(socket));
