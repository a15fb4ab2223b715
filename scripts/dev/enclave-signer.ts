// Asks a serving enclave for its signing address, over the same socket that the proxy uses.
import { createConnection } from "node:net";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import {
  decodeReply,
  ENCLAVE_PORT,
  encodeRequest,
  FrameSplitter,
} from "../../shared/protocol/enclave-messages.ts";

const DEADLINE_MS = 10_000;

export function enclaveSigner(vsockPath: string): Promise<Address> {
  return new Promise((resolve, reject) => {
    const splitter = new FrameSplitter();
    const socket = createConnection(vsockPath, () => socket.write(`CONNECT ${String(ENCLAVE_PORT)}\n`));
    let greeted = false;
    const fail = (reason: string): void => {
      socket.destroy();
      reject(new Error(`no signer from the enclave: ${reason}`));
    };
    socket.setTimeout(DEADLINE_MS, () => fail("it is silent"));
    socket.on("error", (error) => fail(error.message));
    socket.on("data", (chunk: Buffer) => {
      let bytes = chunk;
      if (!greeted) {
        const end = chunk.indexOf("\n");
        if (!chunk.toString("latin1").startsWith("OK ") || end === -1) {
          fail("no OK to CONNECT");
          return;
        }
        greeted = true;
        socket.write(encodeRequest(1, { type: "status" }));
        bytes = chunk.subarray(end + 1);
      }
      const payload = splitter.push(bytes)?.[0];
      if (payload === undefined) return;
      const reply = decodeReply(payload)?.message;
      if (reply?.type !== "status" || reply.phase !== "serving" || reply.signer === ZERO_ADDRESS) {
        fail("it does not serve");
        return;
      }
      socket.destroy();
      resolve(reply.signer);
    });
  });
}
