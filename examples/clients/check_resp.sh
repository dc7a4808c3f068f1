#!/bin/sh
# May this user go on? Asked over the Redis protocol, with redis-cli.
#
#   check_resp.sh USER [PATIENCE]
#
# Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out where
# `retry_after` says that it will pass by then. If no decision is to be had, the user goes on: a
# limiter that is down must not take everything else down.
set -eu
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
user=$1 patience=${2:-0}

# Names and values, a line each. -e: an error is no answer.
ask() {
    timeout "${SLUICE_TIMEOUT_S:-0.1}" redis-cli -e -u "${SLUICE_RESP:-redis://127.0.0.1:6380}" \
        SLUICE.CHECK tenant shop resource /api/videos user "$user"
}

# The value that stands behind a name in $answer.
value() {
    echo "$answer" | sed -n "/^$1\$/{n;p;q}"
}

while answer=$(ask); do
    if [ "$(value allowed)" = 1 ]; then
        echo "allowed, $(value remaining) of $(value limit) left" && exit 0
    fi
    retry=$(value retry_after) # -1: never
    [ "${retry:--1}" -gt 0 ] || { echo "denied" && exit 1; }
    [ "$retry" -le "$patience" ] || { echo "denied, again in $retry s" && exit 1; }
    sleep "$retry"
    patience=$((patience - retry))
done
echo "check_resp.sh: no decision: ${answer:-no answer}" >&2
echo "allowed, unchecked"
