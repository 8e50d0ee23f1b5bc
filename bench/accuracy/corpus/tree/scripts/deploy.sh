#!/usr/bin/env bash
set -euo pipefail

target=${1:?usage: deploy.sh HOST}
make build
scp serve "$target:/srv/tally/serve.new"
ssh "$target" 'mv /srv/tally/serve.new /srv/tally/serve && systemctl restart tally'
