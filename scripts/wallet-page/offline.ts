/**
 * The service worker: keeps the page's own files, so that it opens without a network and shows what was last known. It
 * answers for nothing else: what is asked of the service, of the chain or of the application's server passes it by.
 */
interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface ServiceWorkerScope {
  readonly location: Location;
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: ExtendableEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void;
}
const scope = self as unknown as ServiceWorkerScope;

const CACHE = "cloister-page";
/** Names with their content's hash in them: what was kept under one is what it is. */
const HASHED = /^\/assets\/[^/]+-[0-9A-Z]{8}\.[a-z]+$/;
/** Where proving files lie: another cache of the page's has them. */
const ARTEFACTS = "/artefacts/";

scope.addEventListener("install", (event) => {
  event.waitUntil(keepAll().then(() => scope.skipWaiting()));
});
scope.addEventListener("activate", (event) => event.waitUntil(scope.clients.claim()));
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  const isOurs = url.origin === scope.location.origin && !url.pathname.startsWith(ARTEFACTS);
  if (request.method !== "GET" || !isOurs) return;
  event.respondWith(HASHED.test(url.pathname) ? keptFirst(request) : newestFirst(request));
  // A page that was built anew has other files, and this program may be the same.
  if (request.mode === "navigate") event.waitUntil(keepAll().catch(() => undefined));
});

/** The server lists what belongs to the page. What is kept already, `newestFirst` keeps new. */
async function keepAll(): Promise<void> {
  const files = (await (await fetch("/files.json")).json()) as unknown;
  if (!Array.isArray(files)) throw new TypeError("files.json is no list");
  const wanted = files.filter((file) => typeof file === "string");
  const cache = await caches.open(CACHE);
  const kept = new Set((await cache.keys()).map(({ url }) => new URL(url).pathname));
  await cache.addAll(wanted.filter((file) => !kept.has(file)));
  // Only now: an older page that is kept whole is better than none.
  for (const file of kept) if (!wanted.includes(file)) await cache.delete(file);
}

async function keptFirst(request: Request): Promise<Response> {
  return (await caches.match(request, { cacheName: CACHE })) ?? fetch(request);
}

async function newestFirst(request: Request): Promise<Response> {
  // Every address of the page is the same document.
  const name = request.mode === "navigate" ? "/" : request.url;
  try {
    const answer = await fetch(request);
    if (answer.ok) await (await caches.open(CACHE)).put(name, answer.clone());
    return answer;
  } catch (error) {
    const kept = await caches.match(name, { cacheName: CACHE });
    if (kept === undefined) throw error;
    return kept;
  }
}
