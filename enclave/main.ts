/**
 * `node main.js <socket to listen on> <socket of the security module>`. Listens first, so that the
 * host can see it booting, then boots. Trusts nothing but its own files; see README.md for the order
 * in which to read them.
 */
import { boot } from "./boot.ts";
import { dispatch } from "./dispatch.ts";
import { FrameServer } from "./frames.ts";
import { nitroPlatform } from "./nitro.ts";
import { Life } from "./phase.ts";

const [listenPath, nsmPath] = process.argv.slice(2);
if (listenPath === undefined || nsmPath === undefined) throw new Error("two socket paths are needed");

const life = new Life();
const platform = nitroPlatform({ listenPath, nsmPath });
const server = new FrameServer(platform, (request) => dispatch(life, request));
await platform.listen((socket) => server.accept(socket));
await boot(life, platform);
