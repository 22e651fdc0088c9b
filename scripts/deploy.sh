#!/usr/bin/env bash
# Builds and deploys one stage, then asks the new webhook for the answer that only our code gives.
#
#   deploy.sh dev|staging|prod
#
# From the environment: TEAM_EMAIL and SENDER_EMAIL; optional ALARM_EMAIL, SENDER_ID, DIGEST_ZONE,
# PROVIDER_ACCOUNT, RETURN_URL and VENUE. With BILLING_SENDER_EMAIL dunning is deployed too; optional
# then DUNNING_ZONE and DUNNING_POLICY. Credentials are those of the AWS tools.
set -euo pipefail
cd "$(dirname "$0")/.."

stage=${1:?which stage: dev, staging or prod}
case "$stage" in
    dev) target=default ;;
    staging | prod) target=$stage ;;
    *) echo "there is no stage $stage" >&2 && exit 2 ;;
esac

# The command line's parameters replace those of samconfig.toml, so they are put together here.
read -r -a parameters < <(python3 - "$target" <<'PYTHON'
import sys, tomllib
with open("samconfig.toml", "rb") as config:
    print(tomllib.load(config)[sys.argv[1]]["deploy"]["parameters"]["parameter_overrides"])
PYTHON
)
parameters+=(
    "TeamEmail=${TEAM_EMAIL:?who gets the cases}"
    "SenderEmail=${SENDER_EMAIL:?who the mail comes from}"
)
# Quoted, since a venue's JSON has quotes and spaces of its own; the tool can't read a backslash.
optional() {
    [[ "$2" != *\\* ]] || { echo "$1 must not have a backslash" >&2 && exit 2; }
    [[ -z "$2" ]] || parameters+=("$1=\"${2//\"/\\\"}\"")
}
optional AlarmEmail "${ALARM_EMAIL:-}"
optional SenderId "${SENDER_ID:-}"
optional DigestZone "${DIGEST_ZONE:-}"
optional ProviderAccount "${PROVIDER_ACCOUNT:-}"
optional ReturnUrl "${RETURN_URL:-}"
optional Venue "${VENUE:-}"
# What is left out keeps its last value, so dunning stays on until somebody says Dunning=off.
[[ -z "${BILLING_SENDER_EMAIL:-}" ]] || parameters+=("Dunning=on" "BillingSenderEmail=$BILLING_SENDER_EMAIL")
optional DunningZone "${DUNNING_ZONE:-}"
optional DunningPolicy "${DUNNING_POLICY:-}"

sam build
sam deploy --config-env "$target" --parameter-overrides "${parameters[@]}"

webhook=$(sam list stack-outputs --config-env "$target" --stack-name paidonce --output json |
    python3 -c 'import json, sys
print(next(o["OutputValue"] for o in json.load(sys.stdin) if o["OutputKey"] == "WebhookUrl"))')
scripts/canary.sh "$webhook"
