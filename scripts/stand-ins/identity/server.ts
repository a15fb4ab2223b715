// The example identity provider as a program: says in one line of JSON where it is, and runs until it is stopped.
// DEVELOPMENT ONLY.
import { startProvider } from "./provider.ts";

const provider = await startProvider();
const stop = (): void => void provider.stop().then(() => process.exit(0));
process.once("SIGINT", stop).once("SIGTERM", stop);
const { issuer, jwksUrl, host } = provider;
console.log(JSON.stringify({ issuer, jwksUrl, host }));
