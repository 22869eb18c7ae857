# All of Fjord's programs in one image. `npm run release` first; then `docker build -t REGISTRY/fjord:VERSION .`
FROM node:24-bookworm-slim
# For gateways alone: fjord-agent gateway.
RUN apt-get update && apt-get install --yes --no-install-recommends iproute2 nftables wireguard-tools wireguard-go perl-base && rm -rf /var/lib/apt/lists/*
COPY dist/release/package /opt/fjord
RUN for program in fjord fjord-agent fjord-node microkube; do ln -s /opt/fjord/$program.mjs /usr/local/bin/$program; done
USER 65532:65532
ENV NODE_ENV=production
CMD ["fjord", "--help"]
