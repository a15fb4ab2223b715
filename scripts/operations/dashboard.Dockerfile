# The dashboard in a container, from the repository's root: docker build -f scripts/operations/dashboard.Dockerfile -t cloister-dashboard .
# The base is the enclave's, by digest; packages are those of the lock file, without their scripts.
FROM node:20.20.2-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0 AS packages
WORKDIR /opt/cloister
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

# The page's files: the bundler and its packages stay here.
FROM node:20.20.2-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0 AS page
WORKDIR /opt/cloister
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY proxy/dashboard/ proxy/dashboard/
COPY scripts/build/ scripts/build/
COPY shared/ shared/
RUN node --import tsx scripts/build/pages.ts dashboard

FROM node:20.20.2-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0
WORKDIR /opt/cloister
COPY --from=packages /opt/cloister/node_modules/ node_modules/
COPY package.json tsconfig.json ./
COPY proxy/ proxy/
COPY shared/ shared/
COPY --from=page /opt/cloister/proxy/dashboard/dist/ proxy/dashboard/dist/
# The proxy's user: both write into one store, and the pepper's file is for this user alone.
RUN groupadd --system --gid 10001 cloister \
 && useradd --system --uid 10001 --gid cloister --no-create-home cloister \
 && install -d -o cloister -g cloister -m 0700 /var/lib/cloister
USER cloister
ENV NODE_ENV=production CLOISTER_DASHBOARD_HOST=0.0.0.0 CLOISTER_DATA_DIR=/var/lib/cloister
EXPOSE 8791
ENTRYPOINT ["node", "--import", "tsx", "proxy/dashboard/main.ts"]
