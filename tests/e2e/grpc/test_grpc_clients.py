"""gRPC with clients that others wrote: gRPC's own for Python, nghttp, h2load and curl, and grpc-js
where npm can install it. Frames that no decent client sends are for other tests.
"""

import functools
import itertools
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from certificates import self_signed
from grpc_messages import (FOLDER, NOT_SERVING, OK, OVER_LIMIT, PROTO, SERVICE, SERVING, call,
                           channel_to, fields_of, health, health_check, health_watch, reflect,
                           reflection, request, rls, should_rate_limit)
from node_packages import node_folder, node_json
from serving import TIMEOUT_S, Server
from fronts import guarded

HERE = Path(__file__).parent
LISTEN = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0"}
METHOD = f"/{SERVICE}/ShouldRateLimit"
RULES = """
workers: 2
rules:
  - { name: api, when: { descriptor: "route,user", route: api }, per: user, algorithm: fixed_window,
      limit: 5/365d }
  - { name: many, when: { descriptor: user }, per: user, algorithm: token_bucket, capacity: 100,
      refill_rate: 0.0001 }
"""
names = (f"user-{number}" for number in itertools.count())


Grpc = functools.partial(Server, listen=LISTEN)


def port_of(server):
    return int(next(address for address in server.addresses
                    if address.startswith("grpc://")).rpartition(":")[2])


@pytest.fixture(name="server", scope="module")
def running():
    with Grpc(RULES) as server:
        yield server


@pytest.fixture(name="port")
def of_grpc(server):
    return port_of(server)


@pytest.fixture(name="channel")
def connected(port):
    with channel_to(port) as channel:
        yield channel


@pytest.fixture(name="user")
def unique_user():
    return next(names)


def api(user):
    return request("shop", [("route", "api"), ("user", user)])


# ---- gRPC's own client, for Python ----


def test_calls_one_by_one_count_down(channel, user):
    ask = should_rate_limit(channel)
    said = [ask(api(user), timeout=TIMEOUT_S) for _ in range(6)]
    assert [each.overall_code for each in said] == [OK] * 5 + [OVER_LIMIT]
    assert [each.statuses[0].limit_remaining for each in said] == [4, 3, 2, 1, 0, 0]
    assert {(each.statuses[0].current_limit.name, each.statuses[0].current_limit.requests_per_unit)
            for each in said} == {("api", 5)}
    assert "retry-after" in fields_of(said[-1]) and "retry-after" not in fields_of(said[0])
    assert json.loads(said[-1].raw_body)["error"] == "rate_limit_exceeded"


@pytest.mark.parametrize("connections", [1, 4])
def test_calls_all_at_once_pass_exactly_as_often_as_there_is_room(port, user, connections):
    """As futures on one connection, which has that many streams at a time, and on several."""
    channels = [channel_to(port, ("grpc.use_local_subchannel_pool", 1))
                for _ in range(connections)]
    asks = [should_rate_limit(channel) for channel in channels]
    futures = [asks[number % connections].future(request("shop", [("user", user)]),
                                                 timeout=TIMEOUT_S) for number in range(400)]
    said = [future.result() for future in futures]
    for channel in channels:
        channel.close()
    passed = [each.statuses[0].limit_remaining for each in said if each.overall_code == OK]
    assert sorted(passed) == list(range(100))


def test_threads_share_a_channel(channel, user):
    ask = should_rate_limit(channel)
    with ThreadPoolExecutor(16) as threads:
        said = list(threads.map(lambda _: ask(request("shop", [("user", user)]), timeout=TIMEOUT_S),
                                range(200)))
    assert sum(each.overall_code == OK for each in said) == 100


def test_a_deadline_that_is_over_is_told_and_the_channel_goes_on(channel, user):
    """Whether a call made it in a microsecond is not for a test to say; that it ends is."""
    ask = should_rate_limit(channel)
    for timeout_s in (1e-9, 1e-6, 1e-4):
        try:
            ask(api(user), timeout=timeout_s)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert ask(api(next(names)), timeout=TIMEOUT_S).overall_code == OK


def test_a_call_that_is_cancelled_leaves_the_others_alone(channel, user):
    ask = should_rate_limit(channel)
    futures = [ask.future(request("shop", [("user", user)]), timeout=TIMEOUT_S)
               for _ in range(100)]
    for future in futures[::2]:
        future.cancel()
    assert all(future.result().overall_code == OK for future in futures[1::2])
    assert ask(api(user), timeout=TIMEOUT_S).overall_code == OK


def test_what_is_wrong_with_a_request_is_said(channel):
    ask = should_rate_limit(channel)
    for wrong in (request(""), request("shop"), request("", [("user", "u")]),
                  request("shop", []), request("shop", [("", "value")])):
        with pytest.raises(grpc.RpcError) as caught:
            ask(wrong, timeout=TIMEOUT_S)
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert len(caught.value.details()) > 10


def test_methods_that_are_not_there_are_unimplemented(channel):
    for path in (f"/{SERVICE}/Nothing", "/nothing.Service/ShouldRateLimit",
                 METHOD.replace("v3", "v2"), METHOD.lower()):
        with pytest.raises(grpc.RpcError) as caught:
            call(channel, path, (rls.RateLimitRequest, rls.RateLimitResponse))(
                api("u"), timeout=TIMEOUT_S)
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_metadata_names_the_caller(tmp_path, user):
    with guarded(RULES, tmp_path, "shop", Grpc) as (server, key), \
            channel_to(port_of(server)) as channel:
        ask = should_rate_limit(channel)
        for metadata, code in (((), grpc.StatusCode.UNAUTHENTICATED),
                               ((("x-api-key", "wrong"),), grpc.StatusCode.UNAUTHENTICATED)):
            with pytest.raises(grpc.RpcError) as caught:
                ask(api(user), timeout=TIMEOUT_S, metadata=metadata)
            assert caught.value.code() == code
        said = ask(api(user), timeout=TIMEOUT_S, metadata=(("x-api-key", key),))
        assert said.statuses[0].limit_remaining == 4


def test_metadata_that_no_rule_uses_is_no_matter(channel, user):
    metadata = (("x-request-id", "1"), ("traces-bin", bytes(range(256))), ("x-long", "x" * 2000))
    assert should_rate_limit(channel)(api(user), timeout=TIMEOUT_S,
                                      metadata=metadata).overall_code == OK


def test_a_channel_finds_a_server_again(user):
    """On the same port, which a channel of gRPC goes back to by itself."""
    with Grpc(RULES) as server:
        port = port_of(server)
        channel = channel_to(port, ("grpc.initial_reconnect_backoff_ms", 50),
                             ("grpc.min_reconnect_backoff_ms", 50),
                             ("grpc.max_reconnect_backoff_ms", 100))
        ask = should_rate_limit(channel)
        assert ask(api(user), timeout=TIMEOUT_S).overall_code == OK
    with pytest.raises(grpc.RpcError) as caught:
        ask(api(user), timeout=TIMEOUT_S)
    assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
    with Server(RULES, listen={**LISTEN, "grpc": f"127.0.0.1:{port}"}):
        assert ask(api(user), timeout=TIMEOUT_S, wait_for_ready=True).overall_code == OK
        channel.close()


def test_calls_over_tls_are_answered_and_trust_no_other_certificate(tmp_path, user):
    """gRPC's client goes on only where ALPN has agreed on h2."""
    pair = self_signed(tmp_path)
    listen = {"http": "127.0.0.1:0", "grpc": {"address": "127.0.0.1:0", "tls": True}}
    with Server(f"tls: {pair.listed}\n{RULES}", listen=listen, folder=tmp_path) as server:
        [target] = [address.removeprefix("grpcs://") for address in server.addresses
                    if address.startswith("grpcs://")]
        known = grpc.ssl_channel_credentials(pair.certificate.read_bytes())
        with grpc.secure_channel(target, known) as channel:
            futures = [should_rate_limit(channel).future(api(user), timeout=TIMEOUT_S)
                       for _ in range(20)]
            assert sum(future.result().overall_code == OK for future in futures) == 5
        with grpc.secure_channel(target, grpc.ssl_channel_credentials()) as stranger:
            with pytest.raises(grpc.RpcError) as caught:
                should_rate_limit(stranger)(api(user), timeout=TIMEOUT_S)
            assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


# ---- health and reflection ----


@pytest.mark.parametrize("service", ["", SERVICE])
def test_health_is_told(channel, service):
    said = health_check(channel)(health.HealthCheckRequest(service=service), timeout=TIMEOUT_S)
    assert said.status == SERVING


def test_health_of_what_is_not_there_is_not_found(channel):
    with pytest.raises(grpc.RpcError) as caught:
        health_check(channel)(health.HealthCheckRequest(service="nothing"), timeout=TIMEOUT_S)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_watch_of_health_is_told_of_the_end(user):
    with Grpc(RULES) as server, channel_to(port_of(server)) as channel:
        watch = health_watch(channel)(health.HealthCheckRequest(service=SERVICE), timeout=TIMEOUT_S)
        assert next(watch).status == SERVING
        assert should_rate_limit(channel)(api(user), timeout=TIMEOUT_S).overall_code == OK
        assert server.stop() == 0
        assert next(watch).status == NOT_SERVING


def ask_reflection(channel, version="v1", **asked):
    [said] = reflect(channel, version)(iter([reflection.ServerReflectionRequest(**asked)]),
                                       timeout=TIMEOUT_S)
    return said


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_lists_the_services(channel, version):
    said = ask_reflection(channel, version, list_services="")
    services = {service.name for service in said.list_services_response.service}
    assert {SERVICE, "grpc.health.v1.Health", f"grpc.reflection.{version}.ServerReflection"} <= services


def test_reflection_is_enough_to_make_a_call(channel, user):
    """As grpcurl and its like do: types out of what the server says, and nothing from here."""
    pool, wanted, seen = descriptor_pool.DescriptorPool(), [{"file_containing_symbol": SERVICE}], {}
    for _ in range(50):
        if not wanted:
            break
        said = ask_reflection(channel, **wanted.pop())
        for text in said.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(text)
            seen[file.name] = file
        wanted = [{"file_by_filename": name} for file in seen.values() for name in file.dependency
                  if name not in seen]

    def add(name):
        for dependency in seen[name].dependency:
            add(dependency)
        pool.Add(seen[name])
    for name in seen:
        add(name)
    asked, answered = (message_factory.MessageFactory(pool).GetPrototype(kind) for kind in (
        pool.FindMethodByName(f"{SERVICE}.ShouldRateLimit").input_type,
        pool.FindMethodByName(f"{SERVICE}.ShouldRateLimit").output_type))
    made = asked.FromString(api(user).SerializeToString())
    assert call(channel, METHOD, (asked, answered))(made, timeout=TIMEOUT_S).overall_code == OK


# ---- plain HTTP/2 ----


@pytest.fixture(name="message")
def in_a_file(tmp_path, user):
    """A message as it stands in DATA frames."""
    packed = api(user).SerializeToString()
    path = tmp_path / "message"
    path.write_bytes(b"\0" + len(packed).to_bytes(4, "big") + packed)
    return path


def run_tool(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, timeout=TIMEOUT_S, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done
    return done.stdout


FIELDS = ("-H", "content-type: application/grpc", "-H", "te: trailers")


def test_nghttp_sees_a_head_a_message_and_trailers(port, message):
    said = run_tool("nghttp", "-v", *FIELDS, "-d", message,
                    f"http://127.0.0.1:{port}{METHOD}").decode(errors="replace")
    told = re.findall(r"recv (?:\(stream_id=\d+\) ([\w:-]+: .*)|(DATA) frame)", said)
    assert [field or frame for field, frame in told] == [
        ":status: 200", "content-type: application/grpc", "DATA", "grpc-status: 0"]
    assert "; END_STREAM" in said and "recv GOAWAY" not in said


def test_nghttp_multiplies_its_requests(port, message):
    said = run_tool("nghttp", "-v", "-m", 20, "-n", *FIELDS, "-d", message,
                    f"http://127.0.0.1:{port}{METHOD}").decode(errors="replace")
    assert len(re.findall(r"\) grpc-status: 0", said)) == 20


@pytest.mark.parametrize("streams", [1, 16, 100])
def test_h2load_is_answered_every_time(server, port, message, streams):
    def decisions():
        return sum(map(int, re.findall(r"^sluice_decisions_total\S* (\d+)",
                                       server.ask("GET", "/metrics").body.decode(), re.M)))
    before = decisions()
    said = run_tool("h2load", "-n", 3000, "-c", 5, "-m", streams, *FIELDS, "-d", message,
                    f"http://127.0.0.1:{port}{METHOD}").decode()
    assert "3000 succeeded, 0 failed, 0 errored, 0 timeout" in said
    assert "status codes: 3000 2xx" in said
    assert decisions() - before == 3000


def curl(port, tmp_path, *words):
    """(lines of fields and trailers, body)"""
    run_tool("curl", "-sS", "--max-time", TIMEOUT_S, "--http2-prior-knowledge", *words,
             "-D", tmp_path / "fields", "-o", tmp_path / "body", f"http://127.0.0.1:{port}{METHOD}")
    fields = (tmp_path / "fields").read_text(encoding="ascii").split("\n")
    return [line.strip() for line in fields], (tmp_path / "body")


def test_curl_gets_a_message(port, message, tmp_path):
    fields, body = curl(port, tmp_path, *FIELDS, "--data-binary", f"@{message}")
    assert fields[0] == "HTTP/2 200" and "grpc-status: 0" in fields
    said = rls.RateLimitResponse.FromString(body.read_bytes()[5:])
    assert said.overall_code == OK and said.statuses[0].limit_remaining == 4


def test_what_is_no_grpc_is_told_so(port, tmp_path):
    fields, _ = curl(port, tmp_path, "-X", "POST", "-H", "content-type: application/json")
    assert fields[0] == "HTTP/2 415"
    fields, _ = curl(port, tmp_path)
    assert fields[0] == "HTTP/2 405"


# ---- Node ----


def test_grpc_js_is_content(port):
    """It calls one by one and all at once, is told of errors, asks for health and watches it."""
    node_folder()
    said = node_json(HERE / "grpc_client.mjs", PROTO, port, next(names))
    assert said["codes"] == ["OK"] * 5 + ["OVER_LIMIT"]
    assert said["left"] == [4, 3, 2, 1, 0, 0]
    assert said["retry"] > 0
    assert said["together"] == {"OK": 100, "OVER_LIMIT": 300}
    assert said["wrong"] == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert said["late"] == grpc.StatusCode.DEADLINE_EXCEEDED.value[0]
    assert said["health"] == said["watched"] == "SERVING"


def test_messages_were_made_for_this_run():
    assert not Path(FOLDER).is_relative_to(PROTO.parent)
