/** Every provider of the tests looks for receipts by time: their chains mine only what is sent. */
import { JsonRpcApiProvider, type Subscription } from "ethers";
import { ReceiptByTime } from "../../scripts/base/receipt-by-time.ts";

const EVERY_MS = 20;

const { _getSubscriber: usual } = JsonRpcApiProvider.prototype;
JsonRpcApiProvider.prototype._getSubscriber = function (
  this: JsonRpcApiProvider,
  subscription: Subscription,
) {
  return subscription.type === "transaction"
    ? new ReceiptByTime(this, subscription.hash, EVERY_MS)
    : usual.call(this, subscription);
};
