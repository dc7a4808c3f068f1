"""Clients of the Redis protocol stay for as long as they like, but not in others' way."""

from resp_talking import BOTH, talk
from serving import TIMEOUT_S, Server
from watching import wait_until

RULES = "workers: 1\nrules:\n  - { name: api, per: user, limit: 5/1s }\n"


def is_closed(connected):
    connected.settimeout(0.01)
    try:
        return connected.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_client_that_was_silent_for_long_makes_way_when_there_is_no_room():
    few = f"max_connections: 4\ntimeouts: {{ idle: 1s }}\n{RULES}"
    with Server(few, listen=BOTH) as server:
        clients = [talk(server) for _ in range(4)]
        for client in clients:
            assert client.ask("PING") == "PONG"
        wait_until(lambda: server.ask("GET", "/healthz").status == 200, "room for one more")
        assert sum(is_closed(client.socket) for client in clients) >= 1
        for client in clients:
            client.socket.close()


def test_clients_that_speak_stay_and_others_are_refused():
    few = f"max_connections: 2\ntimeouts: {{ idle: 60s }}\n{RULES}"
    with Server(few, listen=BOTH) as server, talk(server) as one, talk(server) as two:
        assert one.ask("PING") == two.ask("PING") == "PONG"
        assert server.ask("GET", "/healthz").status == 503
        assert one.ask("PING") == two.ask("PING") == "PONG"


def test_a_client_that_never_speaks_is_closed():
    with Server(f"timeouts: {{ head: 1s }}\n{RULES}", listen=BOTH) as server:
        with talk(server) as spoken, talk(server) as silent:
            assert spoken.ask("PING") == "PONG"
            silent.socket.settimeout(TIMEOUT_S)
            assert silent.socket.recv(1) == b""
            assert spoken.ask("PING") == "PONG"
