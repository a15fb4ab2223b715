/**
 * The client library: everything a browser or a Node program needs to hold and move private money. No
 * Node module is behind this file; files on disk are in ./node/index.ts.
 */

export { createClient, type Client, type ClientOptions, type SubmitOptions } from "./client.ts";
export type { CallOptions } from "./http.ts";
export type { Credential, SessionProvider } from "./session.ts";
export { exchangeSession, identityProviderSession, type IdentityProviderOptions } from "./exchange.ts";
export type { EventsOptions, StreamTiming } from "./events.ts";

export type { TreeLevel, TreePage } from "./tree-level.ts";
export { merklePaths, type KnownLeaf, type MerklePaths, type MerklePathsOptions } from "./merkle-paths.ts";

export { createWallet, type Wallet, type WalletOptions } from "./wallet.ts";
export type {
  CarriedOptions,
  Payment,
  PaymentOptions,
  Progress,
  SpendOptions,
  StatementOptions,
  Step,
  StepEvent,
} from "./payment.ts";
export type { ChainAccess, ChainOptions } from "./chain/index.ts";
export type { Advanced, AdvanceEarly, ClaimsPaid, Outlook, WithoutService } from "./without-service.ts";
export type { NotesYoung, ProvedOptions, ProvedPayment } from "./proved-payments.ts";
export { AbortError, PaymentInterrupted, type Standing } from "./operation.ts";
export type { DepositOptions, PlainDeposit, PlainDepositOptions } from "./depositing.ts";
export type { Swap, SwapOrder } from "./spending.ts";
export type { QuoteRequest, SwapOffer } from "./quote.ts";
export {
  eip1193Sender,
  type OutgoingTransaction,
  type SentTransaction,
  type TransactionSender,
} from "./sender.ts";
export type { Receipt } from "./execute-call.ts";
export { TicketFailed } from "./tickets.ts";
export { PaymentUnresolved } from "./exposure.ts";
export { poolRootVerifier, type PoolRootVerifierOptions, type RootVerifier } from "./root-verifier.ts";
export type { Balance } from "./balances.ts";
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
export type { BridgePins } from "./bridges/pinned.ts";
export { bridgePinsFrom } from "./bridges/from-info.ts";
export { bridgeStatusText } from "./bridges/status-text.ts";
export type { NoteOpening } from "./adopting.ts";
export type { OwnedNote } from "./state.ts";
export type { WaitOptions } from "./feed.ts";
export type { Pins, TokenDomain } from "./pins.ts";
export { AWS_NITRO_ROOT, checkEnclaves, type EnclavePins, type ProvedEnclave } from "./attestation.ts";
export type { ServingEnclave } from "./core.ts";
export type { ImageAdmission, Registration } from "./registrations.ts";
export { eip1193Signer, type DepositSigner, type Eip1193Provider } from "./authorization.ts";

export {
  MOST_REQUEST_CHARS,
  paymentLink,
  readPaymentRequest,
  writePaymentRequest,
  type PaymentRequest,
  type ReadPaymentRequest,
  type RequestPins,
} from "./payment-request.ts";
export type { Contact, Contacts } from "./contacts.ts";
export type { ActivityItem, ActivityKind, ActivityState } from "./activity.ts";
export {
  activityCsv,
  decimalText,
  withBlockTimes,
  type BlockTimesOptions,
  type ShownAsset,
  type StatementExportOptions,
} from "./statement-export.ts";
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
} from "./storage.ts";
export {
  createProver,
  type ProveOptions,
  type Prover,
  type ProverOptions,
  type ProvingProgress,
} from "./prover.ts";
export {
  fetchArtefacts,
  type ArtefactManifest,
  type Artefacts,
  type ArtefactSource,
  type SourceOptions,
} from "./artefacts.ts";

export { ApiProblem, CLIENT_ERRORS, ClientError, type ClientErrorCode } from "./errors.ts";
export { newPhrase, newSeed, SpendingKey, FullViewingKey, IncomingViewingKey } from "../notes/keys.ts";
export { decodeShieldedAddress, encodeShieldedAddress, type ShieldedAddress } from "../notes/address.ts";
// For whoever makes statements without a wallet, from notes of its own record.
export { asField, type Address, type Field } from "../protocol/brands.ts";
export { asAddress } from "../protocol/host/text.ts";
export { noteCommitment, type Note } from "../notes/note.ts";
export { homeOf } from "./pins.ts";
export { feesFor, type Fees } from "./fees.ts";
export { spendBody, wireProof } from "./bodies.ts";
export {
  prepareDeposit,
  prepareSpend,
  prepareSwap,
  type DepositPlan,
  type Prepared,
  type SpendInput,
  type SpendPlan,
  type SwapPlan,
} from "./statements.ts";
