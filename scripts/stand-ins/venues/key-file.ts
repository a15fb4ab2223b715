// A secp256k1 key of a local venue, in its own folder and nowhere else. Made when it is first asked for, so that
// contracts can name its address before the venue runs.
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { computeAddress, SigningKey } from "ethers";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";

export interface VenueKey {
  readonly key: SigningKey;
  readonly address: Address;
}

export async function openKey(folder: string, name: string): Promise<VenueKey> {
  const file = path.join(folder, `${name}.key`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, `0x${randomBytes(32).toString("hex")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const text = (await readFile(file, "utf8")).trim();
  if (!/^0x[0-9a-f]{64}$/.test(text)) throw new Error(`${name}.key holds no key`);
  const key = new SigningKey(text);
  const address = asAddress(computeAddress(key));
  if (address === undefined) throw new TypeError("no address");
  return { key, address };
}
