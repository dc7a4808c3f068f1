#!/usr/bin/env python3
"""May this user go on? Asked over gRPC as Envoy asks, with grpcio and protobuf (python3-grpcio,
python3-protobuf).

    protoc -I ../../proto --python_out=. $(cd ../../proto && find envoy -name '*.proto')
    check_grpc.py USER [PATIENCE]

Prints the answer; exit 0 allowed, 1 denied. With PATIENCE, in seconds, a denial is waited out where
Retry-After says that it will pass by then. If no decision is to be had, the user goes on: a
limiter that is down must not take everything else down.
"""

import os
import sys
import time

import grpc
from envoy.service.ratelimit.v3 import rls_pb2

TARGET = os.environ.get("SLUICE_GRPC", "127.0.0.1:8081")
TIMEOUT_S = float(os.environ.get("SLUICE_TIMEOUT_S", "0.1"))
METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

# One for the whole program: calls share its connection, and threads may share it.
channel = grpc.insecure_channel(TARGET)
should_rate_limit = channel.unary_unary(
    METHOD, request_serializer=rls_pb2.RateLimitRequest.SerializeToString,
    response_deserializer=rls_pb2.RateLimitResponse.FromString)


def ask(user):
    """The response, or None. The domain is the tenant, and entries are attributes."""
    request = rls_pb2.RateLimitRequest(domain="shop")
    descriptor = request.descriptors.add()
    descriptor.entries.add(key="resource", value="/api/videos")
    descriptor.entries.add(key="user", value=user)
    try:
        return should_rate_limit(request, timeout=TIMEOUT_S)
    except grpc.RpcError as error:
        print(f"check_grpc.py: no decision: {error.code().name}: {error.details()}",
              file=sys.stderr)
        return None


def is_allowed(response):
    return response.overall_code != rls_pb2.RateLimitResponse.OVER_LIMIT


def retry_s_of(response):
    """From Retry-After, which Envoy would give to its client; None: never, or not said."""
    for header in response.response_headers_to_add:
        if header.key.lower() == "retry-after":
            return int(header.value or header.raw_value)
    return None


def ask_patiently(user, patience_s):
    end = time.monotonic() + patience_s
    while True:
        response = ask(user)
        if not response or is_allowed(response):
            return response
        retry_s = retry_s_of(response)
        if retry_s is None or time.monotonic() + retry_s > end:
            return response
        time.sleep(retry_s)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    response = ask_patiently(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0)
    if not response:
        print("allowed, unchecked")
    elif is_allowed(response):
        status = response.statuses[0]
        print(f"allowed, {status.limit_remaining} of {status.current_limit.requests_per_unit} left")
    else:
        retry_s = retry_s_of(response)
        print(f"denied, again in {retry_s} s" if retry_s else "denied")
        sys.exit(1)


if __name__ == "__main__":
    main()
