/**
 * An identity provider's half of an exchange: a key set on this machine, and an access token signed by it. Its
 * app is registered as an operator does it, beside the running proxy. DEVELOPMENT ONLY.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { addApp } from "../../proxy/identity/registration.ts";
import { openAppStore } from "../../proxy/store/lmdb/apps.ts";
import { openDatabase } from "../../proxy/store/lmdb/database.ts";
import { openKeyStore } from "../../proxy/store/lmdb/keys.ts";

const AUDIENCE = "https://api.example";
const ALGORITHM = "ES256";

export interface ExampleProvider {
  accessToken(sub: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startExampleProvider(
  dataDir: string,
  { appId, developerId }: { readonly appId: string; readonly developerId: string },
): Promise<ExampleProvider> {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM);
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: ALGORITHM, use: "sig" }] };
  const server = createServer((_request, response) => {
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(keys));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const issuer = `http://${host}`;
  const database = openDatabase(dataDir);
  try {
    const developers = openKeyStore(database);
    await addApp(
      openAppStore(database),
      async (id) => (await developers.developer(id)) !== undefined,
      {
        id: appId,
        developerId,
        issuer,
        audience: AUDIENCE,
        jwksUrl: `${issuer}/jwks`,
        jwksHost: host,
        perms: ["read", "write"],
      },
      { allowLoopback: true },
    );
  } finally {
    await database.close();
  }
  return {
    accessToken: (sub) =>
      new SignJWT({ client_id: "wallet", jti: "1" })
        .setProtectedHeader({ alg: ALGORITHM, kid: "k1", typ: "at+jwt" })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setSubject(sub)
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(privateKey),
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
