// What every store of last good prices promises.
import assert from "node:assert/strict";
import type { PriceStore } from "../../../proxy/base/store/prices.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";

const USDC = asAddress(`0x${"11".repeat(20)}`) as Address;

export function priceStoreSuite(of: () => [PriceStore, PriceStore]): void {
  it("keeps the newest, whatever comes late", async () => {
    const [one, other] = of();
    assert.equal(await one.price(USDC), undefined);
    const price = { answer: 2n ** 200n, decimals: 18, updatedAt: 20 };
    await one.keepPrice(USDC, price);
    await other.keepPrice(USDC, { answer: 1n, decimals: 8, updatedAt: 19 });
    assert.deepEqual(await one.price(USDC), price);
    await other.keepPrice(USDC, { answer: 1n, decimals: 8, updatedAt: 21 });
    assert.deepEqual(await one.price(USDC), { answer: 1n, decimals: 8, updatedAt: 21 });
  });

  it("keeps the newest of many that come together", async () => {
    const stores = of();
    const at = (updatedAt: number) => ({ answer: BigInt(updatedAt), decimals: 8, updatedAt });
    await Promise.all([5, 9, 1, 7, 3, 8].map((time, i) => stores[i % 2]!.keepPrice(USDC, at(time))));
    assert.deepEqual(await stores[0].price(USDC), at(9));
  });
}
