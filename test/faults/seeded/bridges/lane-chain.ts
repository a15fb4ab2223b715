/** A chain of a lane, as those ask it who stand outside of any proxy. */
export interface LaneChain {
  readonly url: string;
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
}
