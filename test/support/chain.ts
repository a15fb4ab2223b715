// The tests' door to a local chain: always a free port, stopped in `after`.
export {
  startAnvil,
  DEVELOPMENT_MNEMONIC,
  type Anvil,
  type AnvilOptions,
} from "../../scripts/stand-ins/anvil.ts";
