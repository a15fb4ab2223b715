/**
 * The client library: everything a browser or a Node program needs to hold and move private money. No
 * Node module is behind this file; files on disk are in ./node/index.ts.
 */

export { createClient, type Client, type ClientOptions, type SubmitOptions } from "./service/client.ts";
export type { CallOptions } from "./service/http.ts";
export type { Credential, SessionProvider } from "./service/session.ts";
export {
  exchangeSession,
  identityProviderSession,
  type IdentityProviderOptions,
} from "./service/exchange.ts";
export type { EventsOptions, StreamTiming } from "./service/events.ts";

export type { TreeLevel, TreePage } from "./service/tree-level.ts";
export {
  merklePaths,
  type KnownLeaf,
  type MerklePaths,
  type MerklePathsOptions,
} from "./service/merkle-paths.ts";

export { createWallet, type Wallet, type WalletOptions } from "./wallet/wallet.ts";
export type {
  CarriedOptions,
  Payment,
  PaymentOptions,
  Progress,
  SpendOptions,
  StatementOptions,
  Step,
  StepEvent,
} from "./paying/payment.ts";
export type { ChainAccess, ChainOptions } from "./chain.ts";
export type {
  Advanced,
  AdvanceEarly,
  BroughtBack,
  ClaimsPaid,
  DepositsReturned,
  Outlook,
  WithoutService,
} from "./wallet/without-service.ts";
export type { NotesYoung, ProvedOptions, ProvedPayment } from "./wallet/proved-payments.ts";
export { AbortError, PaymentInterrupted, type Standing } from "./paying/operation.ts";
export type { DepositOptions, PlainDeposit, PlainDepositOptions } from "./paying/depositing.ts";
export type { Swap, SwapOrder } from "./paying/spending.ts";
export type { QuoteRequest, SwapOffer } from "./wallet/quote.ts";
export {
  eip1193Sender,
  type OutgoingTransaction,
  type SentTransaction,
  type TransactionSender,
} from "./statements/sender.ts";
export type { Receipt } from "./statements/execute-call.ts";
export { TicketFailed } from "./service/tickets.ts";
export { PaymentUnresolved } from "./state/exposure.ts";
export {
  poolRootVerifier,
  type PoolRootVerifierOptions,
  type RootVerifier,
} from "./service/root-verifier.ts";
export type { Balance } from "./state/balances.ts";
export type {
  BridgeDeposit,
  BridgeEntry,
  BridgeExit,
  BridgeHints,
  BridgeInOptions,
  BridgeOutOptions,
  BridgeProgress,
  Bridges,
  BridgeWaitOptions,
  BridgeWithdrawal,
  BridgeWithdrawOptions,
} from "./bridges/bridges.ts";
export type { RefundKey } from "../notes/bridge-keys.ts";
export type { BridgePins } from "./base/pinned-bridges.ts";
export { bridgePinsFrom } from "./bridges/from-info.ts";
export { bridgeStatusText } from "./bridges/status-text.ts";
export type { NoteOpening } from "./state/adopting.ts";
export type { OwnedNote } from "./state/state.ts";
export type { WaitOptions } from "./service/feed.ts";
export type { Pins, TokenDomain } from "./base/pins.ts";
export { AWS_NITRO_ROOT, checkEnclaves, type EnclavePins, type ProvedEnclave } from "./base/attestation.ts";
export type { ServingEnclave } from "./paying/core.ts";
export type { ImageAdmission, Registration } from "./service/registrations.ts";
export { eip1193Signer, type DepositSigner, type Eip1193Provider } from "./statements/authorization.ts";

export {
  MOST_REQUEST_CHARS,
  paymentLink,
  readPaymentRequest,
  writePaymentRequest,
  type PaymentRequest,
  type ReadPaymentRequest,
  type RequestPins,
} from "./wallet/payment-request.ts";
export type { Contact, Contacts } from "./wallet/contacts.ts";
export type { ActivityItem, ActivityKind, ActivityState } from "./state/activity.ts";
export {
  activityCsv,
  decimalText,
  withBlockTimes,
  type BlockTimesOptions,
  type ShownAsset,
  type StatementExportOptions,
} from "./wallet/statement-export.ts";
export {
  verifyDisclosure,
  type DisclosedPayment,
  type Discloser,
  type DiscloseOptions,
  type VerifyDisclosureOptions,
} from "./disclosure/index.ts";

export {
  indexedDbStorage,
  memoryStorage,
  textStorage,
  type PartChange,
  type PartStorage,
  type StoredBytes,
  type TextStore,
  type WalletStorage,
} from "./state/storage.ts";
export {
  createProver,
  type ProveOptions,
  type Prover,
  type ProverOptions,
  type ProvingProgress,
} from "./prover/prover.ts";
export {
  fetchArtefacts,
  type ArtefactManifest,
  type Artefacts,
  type ArtefactSource,
  type SourceOptions,
} from "./prover/artefacts.ts";

export { ApiProblem, CLIENT_ERRORS, ClientError, type ClientErrorCode } from "./base/errors.ts";
export { newPhrase, newSeed, SpendingKey, FullViewingKey, IncomingViewingKey } from "../notes/keys.ts";
export { decodeShieldedAddress, encodeShieldedAddress, type ShieldedAddress } from "../notes/address.ts";
// For whoever makes statements without a wallet, from notes of its own record.
export { asField, type Address, type Field } from "../protocol/brands.ts";
export { asAddress } from "../protocol/host/text.ts";
export { noteCommitment, type Note } from "../notes/note.ts";
export { homeOf } from "./base/pins.ts";
export { feesFor, type Fees } from "./statements/fees.ts";
export { spendBody, wireProof } from "./statements/bodies.ts";
export {
  prepareDeposit,
  prepareSpend,
  prepareSwap,
  type DepositPlan,
  type Prepared,
  type SpendInput,
  type SpendPlan,
  type SwapPlan,
} from "./statements/statements.ts";
