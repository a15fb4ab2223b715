# A proxy in a container, from the repository's root: docker build -f scripts/operations/proxy.Dockerfile -t cloister-proxy .
# The base is the enclave's, by digest; packages are those of the lock file, without their scripts.
FROM node:20.20.2-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0 AS packages
WORKDIR /opt/cloister
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:20.20.2-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0
WORKDIR /opt/cloister
COPY --from=packages /opt/cloister/node_modules/ node_modules/
COPY package.json tsconfig.json ./
COPY proxy/ proxy/
# For the operator's tool, which reads images' configurations as the enclave does.
COPY enclave/ enclave/
COPY scripts/ scripts/
COPY shared/ shared/
# The owner of the store and of the files of secrets. The program is root's: who runs it cannot change it.
RUN groupadd --system --gid 10001 cloister \
 && useradd --system --uid 10001 --gid cloister --no-create-home cloister \
 && install -d -o cloister -g cloister -m 0700 /var/lib/cloister
USER cloister
ENV NODE_ENV=production CLOISTER_HOST=0.0.0.0 CLOISTER_DATA_DIR=/var/lib/cloister CLOISTER_OPERATIONS_PORT=9464
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9464/live').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--import", "tsx", "proxy/api/main.ts"]
