import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Server } from "node:net";
import { choosePorts, type PortWish } from "../../../../scripts/stack/ports.ts";
import { StackError } from "../../../../scripts/base/stack-file.ts";

describe("scripts/stack/ports", () => {
  let busy: Server;
  let busyPort: number;

  before(async () => {
    busy = createServer();
    await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
    busyPort = (busy.address() as AddressInfo).port;
  });
  after(() => void busy.close());

  const wish = (wanted: number | undefined, usual: number, option = "--port"): PortWish => ({
    wanted,
    usual,
    option,
  });

  async function aFreePort(): Promise<number> {
    const [port] = await choosePorts([wish(0, busyPort)]);
    assert.ok(port !== undefined);
    return port;
  }

  it("takes the usual port where it is free, and another where it is not", async () => {
    const free = await aFreePort();
    assert.deepEqual(await choosePorts([wish(undefined, free)]), [free]);
    const [other] = await choosePorts([wish(undefined, busyPort)]);
    assert.notEqual(other, busyPort);
  });

  it("takes the wanted port, or says which option chooses another", async () => {
    const free = await aFreePort();
    assert.deepEqual(await choosePorts([wish(free, busyPort)]), [free]);
    await assert.rejects(
      choosePorts([wish(busyPort, free, "--second-port")]),
      (error: unknown) => error instanceof StackError && /--second-port/.test(error.message),
    );
  });

  it("gives no port twice: not the wanted one as another's usual one, nor to two who want it", async () => {
    const free = await aFreePort();
    const [first, second] = await choosePorts([wish(undefined, free), wish(free, busyPort)]);
    assert.equal(second, free);
    assert.notEqual(first, free);
    await assert.rejects(choosePorts([wish(free, 1), wish(free, 2)]), StackError);
    const many = await choosePorts(Array.from({ length: 8 }, () => wish(0, 1)));
    assert.equal(new Set(many).size, 8);
  });
});
