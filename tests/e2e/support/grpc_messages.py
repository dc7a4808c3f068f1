"""Messages of proto/, made by protoc for this run, and calls by gRPC's own client.

    with channel_to(server.port) as channel:
        response = should_rate_limit(channel)(request("shop", [("user", "u1")]), timeout=TIMEOUT_S)

Nothing generated is kept, and gRPC's code generator is not needed: a call is its path and two
functions.
"""

import atexit
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

import grpc

from program import ROOT

PROTO = ROOT / "proto"
TIMEOUT_S = 60
SERVICE = "envoy.service.ratelimit.v3.RateLimitService"


def make():
    """The folder with Python's modules of every file of proto/."""
    folder = tempfile.TemporaryDirectory(prefix="sluice-proto-")
    atexit.register(folder.cleanup)
    files = [path.relative_to(PROTO) for path in sorted(PROTO.rglob("*.proto"))]
    subprocess.run(["protoc", "-I", PROTO, f"--python_out={folder.name}", *files], check=True,
                   timeout=TIMEOUT_S)
    return folder.name


FOLDER = make()
sys.path.append(FOLDER)
grpc.__path__.append(str(Path(FOLDER, "grpc")))  # grpc.health.v1 lies beside gRPC's own package
rls = importlib.import_module("envoy.service.ratelimit.v3.rls_pb2")
units = importlib.import_module("envoy.type.v3.ratelimit_unit_pb2")
health = importlib.import_module("grpc.health.v1.health_pb2")
reflection = importlib.import_module("grpc.reflection.v1.reflection_pb2")

OK, OVER_LIMIT = rls.RateLimitResponse.OK, rls.RateLimitResponse.OVER_LIMIT
SERVING, NOT_SERVING = (getattr(health.HealthCheckResponse, name)
                        for name in ("SERVING", "NOT_SERVING"))


def channel_to(port, *options):
    return grpc.insecure_channel(f"127.0.0.1:{port}", options=options)


def call(channel, path, of, kind="unary_unary"):
    """`of` is the type of a request and of a response."""
    return getattr(channel, kind)(path, request_serializer=of[0].SerializeToString,
                                  response_deserializer=of[1].FromString)


def should_rate_limit(channel):
    return call(channel, f"/{SERVICE}/ShouldRateLimit",
                (rls.RateLimitRequest, rls.RateLimitResponse))


def health_check(channel):
    return call(channel, "/grpc.health.v1.Health/Check",
                (health.HealthCheckRequest, health.HealthCheckResponse))


def health_watch(channel):
    return call(channel, "/grpc.health.v1.Health/Watch",
                (health.HealthCheckRequest, health.HealthCheckResponse), "unary_stream")


def reflect(channel, version="v1"):
    """v1 and v1alpha have the same numbers."""
    path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    return call(channel, path, (reflection.ServerReflectionRequest,
                                reflection.ServerReflectionResponse), "stream_stream")


def request(domain, *descriptors, **more):
    """Each descriptor is a list of pairs."""
    made = rls.RateLimitRequest(domain=domain, **more)
    for entries in descriptors:
        descriptor = made.descriptors.add()
        for key, value in entries:
            descriptor.entries.add(key=key, value=value)
    return made


def fields_of(response):
    """Header fields for the client of Envoy, names in lower case."""
    return {field.key.lower(): field.value or field.raw_value.decode()
            for field in response.response_headers_to_add}
