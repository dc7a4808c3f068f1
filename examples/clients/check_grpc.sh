#!/bin/sh
# May this user go on? Asked over gRPC as Envoy asks, with curl (HTTP/2) and protoc, which makes
# bytes of text and text of bytes. Where there is grpcurl, it does all of it in one line:
#
#   grpcurl -plaintext -d '{"domain": "shop", "descriptors": [{"entries":
#       [{"key": "resource", "value": "/api/videos"}, {"key": "user", "value": "u1"}]}]}' \
#       127.0.0.1:8081 envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit
#
#   check_grpc.sh USER [PATIENCE]
#
# Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out where
# Retry-After says that it will pass by then. If no decision is to be had, the user goes on: a
# limiter that is down must not take everything else down.
set -eu
[ $# -ge 1 ] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
user=$1 patience=${2:-0}
case $user in *[\"\\]*) echo "check_grpc.sh: a name without quotes and backslashes, please" >&2 && exit 2 ;; esac
service=envoy.service.ratelimit.v3
proto=$(cd "$(dirname "$0")/../../proto" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

message() { # --encode or --decode, and of which type
    protoc -I "$proto" "$1=$service.$2" "$proto/envoy/service/ratelimit/v3/rls.proto"
}

# A byte of this number.
byte() {
    printf '%b' "\\0$(printf %03o "$1")"
}

# The message in $folder/request: not compressed, its length in four bytes (a word of a command line
# is below 2^24), its bytes.
write_request() {
    message --encode RateLimitRequest >"$folder/message" <<EOF
domain: "shop"
descriptors {
    entries { key: "resource" value: "/api/videos" }
    entries { key: "user" value: "$user" }
}
EOF
    size=$(wc -c <"$folder/message")
    for number in 0 0 $((size / 65536)) $((size / 256 % 256)) $((size % 256)); do
        byte "$number"
    done >"$folder/request"
    cat "$folder/message" >>"$folder/request"
}

# The response as text. Whether it is one is said behind it, in the trailers.
ask() {
    curl -sS --max-time "${SLUICE_TIMEOUT_S:-0.1}" --http2-prior-knowledge \
        -H 'Content-Type: application/grpc' -H 'TE: trailers' --data-binary "@$folder/request" \
        -D "$folder/fields" -o "$folder/response" \
        "http://${SLUICE_GRPC:-127.0.0.1:8081}/$service.RateLimitService/ShouldRateLimit" || return 1
    grep -qi '^grpc-status: 0' "$folder/fields" || { cat "$folder/fields" >&2 && return 1; }
    tail -c +6 "$folder/response" | message --decode RateLimitResponse
}

# Of a line `NAME: VALUE`, the first one.
value() {
    echo "$answer" | sed -n "s/^ *$1: *//p" | head -n 1
}

write_request
while answer=$(ask); do
    if [ "$(value overall_code)" = OK ]; then
        left=$(value limit_remaining) # protobuf leaves zeros out
        echo "allowed, ${left:-0} of $(value requests_per_unit) left" && exit 0
    fi
    retry=$(echo "$answer" | sed -n '/key: "[Rr]etry-[Aa]fter"/{n;s/[^0-9]//g;p;q}')
    [ -n "$retry" ] || { echo "denied" && exit 1; } # never
    [ "$retry" -le "$patience" ] || { echo "denied, again in $retry s" && exit 1; }
    sleep "$retry"
    patience=$((patience - retry))
done
echo "check_grpc.sh: no decision" >&2
echo "allowed, unchecked"
