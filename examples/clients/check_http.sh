#!/bin/sh
# May this user go on? Asked over HTTP, with curl 7.84 or newer.
#
#   check_http.sh USER [PATIENCE]
#
# Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out where
# Retry-After says that it will pass by then. If no decision is to be had, the user goes on: a
# limiter that is down must not take everything else down.
set -eu
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
user=$1 patience=${2:-0}
case $user in *[\"\\]*) echo "check_http.sh: a name without quotes and backslashes, please" >&2 && exit 2 ;; esac
url=${SLUICE_HTTP:-http://127.0.0.1:8080}/v1/check

# Status and figures on one line; all that is needed is in header fields.
ask() {
    curl -sS --max-time "${SLUICE_TIMEOUT_S:-0.1}" -o /dev/null \
        -w '%{http_code} %header{x-ratelimit-remaining} %header{x-ratelimit-limit} %header{retry-after}' \
        -H 'Content-Type: application/json' \
        -d "{\"tenant\": \"shop\", \"resource\": \"/api/videos\", \"user\": \"$user\"}" "$url"
}

while answer=$(ask); do
    # shellcheck disable=SC2086 # words, on purpose
    set -- $answer
    case $1 in
    200) echo "allowed, $2 of $3 left" && exit 0 ;;
    429)
        [ -n "${4:-}" ] || { echo "denied" && exit 1; } # never
        [ "$4" -le "$patience" ] || { echo "denied, again in $4 s" && exit 1; }
        sleep "$4"
        patience=$((patience - $4))
        ;;
    *) echo "check_http.sh: no decision: status $1" >&2 && break ;;
    esac
done
echo "allowed, unchecked"
