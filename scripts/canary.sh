#!/usr/bin/env bash
# Posts a body without a signature to the webhook and expects the function's own 400.
#
#   canary.sh WEBHOOK_URL
set -euo pipefail

url=${1:?the webhook\'s Function URL}
status=none
# New permissions take some seconds to be known everywhere.
for attempt in 1 2 3 4 5 6; do
    [[ "$attempt" == 1 ]] || sleep 10
    status=$(curl --silent --output /dev/null --write-out '%{http_code}' --max-time 20 \
        --header 'content-type: application/json' --data '{}' "$url" || true)
    if [[ "$status" == 400 ]]; then
        echo "canary: the webhook refuses an unsigned body with 400"
        exit 0
    fi
    echo "canary: attempt $attempt answered $status" >&2
done
case "$status" in
    403) echo "canary: AWS answers, not the function: one of the URL's two permissions is missing" >&2 ;;
    5*) echo "canary: the function fails: see the log group /aws/lambda/bdc-webhook" >&2 ;;
    *) echo "canary: expected 400, got $status" >&2 ;;
esac
exit 1
