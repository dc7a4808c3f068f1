"""Keys that tokens are checked with: which one, how they change, and what is no key.

What a key file holds must never be printed, so every complaint is searched for it.
"""

import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, x25519

import certificates
import counting
from counting import ask, used
from program import run
from serving import Server
from test_jwt import is_refused
from tokens import Key, bearer, jwks, key_of, number, rsa_key, setting, signed
from watching import hang_up, wait_until

OLD, NEW = key_of("ES256"), key_of("ES256", "new")
SECRET = key_of("HS256")
RULES = counting.rules("user")


def serve(folder, jwt, more=""):
    return Server(f"{more}identity: {{ jwt: {jwt} }}\n{RULES}", folder=folder)


def status(server, token, connection=None):
    return ask(server, "authorize", "user", bearer(token), connection).status


# ---- which key --------------------------------------------------------------------------


def test_a_kid_names_the_key_and_no_other(tmp_path):
    with serve(tmp_path, setting(tmp_path, {"old": OLD, "new": NEW})) as server:
        for kid, key, other in (("old", OLD, NEW), ("new", NEW, OLD)):
            assert status(server, key.token({"sub": "u"}, kid=kid)) == 200
            assert status(server, key.token({"sub": "u"})) == 200  # each is tried
            is_refused(ask(server, "check", "user", bearer(other.token({"sub": "u"}, kid=kid))),
                       "signature is wrong")
        answer = ask(server, "check", "user", bearer(OLD.token({"sub": "u"}, kid="third")))
        is_refused(answer, "no key of that kid")


def test_where_keys_have_no_kid_each_is_tried(tmp_path):
    for name, key in (("one", OLD), ("two", NEW)):
        key.write(tmp_path / name)
    keys = [{"pem_file": "one"}, {"pem_file": "two"}]
    with serve(tmp_path, f"{{ algorithms: [ES256], keys: {json.dumps(keys)} }}") as server:
        for key in (OLD, NEW):
            assert status(server, key.token({"sub": "u"})) == 200
            assert status(server, key.token({"sub": "u"}, kid="whatever")) == 200
        stranger = key_of("ES256", "stranger").token({"sub": "u"})
        is_refused(ask(server, "check", "user", bearer(stranger)), "signature is wrong")


def test_a_set_says_what_its_keys_are_for(tmp_path):
    rsa, bound, enc = key_of("RS256"), key_of("PS256"), key_of("RS256", "attacker")
    (tmp_path / "jwks.json").write_text(jwks(
        rsa.jwk(kid="free"), bound.jwk(kid="bound", alg="PS256"), enc.jwk(kid="enc", use="enc"),
        OLD.jwk(kid="ops", key_ops=["sign"]), {"kty": "unheard-of", "kid": "odd"},
        NEW.jwk(kid="es", key_ops=["verify"], x5t="x", anything=[1])))
    jwt = "{ algorithms: [RS256, PS256, ES256], jwks_file: jwks.json }"

    def by(key, algorithm, kid):
        return Key(algorithm, key.private).token({"sub": "u"}, kid=kid)

    with serve(tmp_path, jwt) as server:
        for token in (by(rsa, "RS256", "free"), by(rsa, "PS256", "free"),
                      by(bound, "PS256", "bound"), NEW.token({"sub": "u"}, kid="es")):
            assert status(server, token) == 200
        for token, phrase in ((by(bound, "RS256", "bound"), "not one of its key"),
                              (by(enc, "RS256", "enc"), "no key of that kid"),
                              (OLD.token({"sub": "u"}, kid="ops"), "no key of that kid")):
            is_refused(ask(server, "check", "user", bearer(token)), phrase)


def test_an_algorithm_that_is_not_named_is_not_done(tmp_path):
    rsa = key_of("RS256")
    with serve(tmp_path, setting(tmp_path, {"rsa": rsa}, ["PS256"])) as server:
        assert status(server, Key("PS256", rsa.private).token({"sub": "u"})) == 200
        is_refused(ask(server, "check", "user", bearer(rsa.token({"sub": "u"}))), "not accepted")
        hs256 = signed({"alg": "HS256"}, {"sub": "u"}, SECRET.sign)
        is_refused(ask(server, "check", "user", bearer(hs256)), "not accepted")


def test_there_may_be_a_hundred_keys(tmp_path):
    keys = [key_of("EdDSA", number) for number in range(101)]
    (tmp_path / "jwks.json").write_text(jwks(*(key.jwk() for key in keys[:100])))
    jwt = "{ algorithms: [EdDSA], jwks_file: jwks.json }"
    with serve(tmp_path, jwt) as server:
        assert status(server, keys[99].token({"sub": "u"})) == 200
        assert status(server, keys[100].token({"sub": "u"})) == 401
    (tmp_path / "jwks.json").write_text(jwks(*(key.jwk() for key in keys)))
    refuses_to_start(tmp_path, jwt, "jwks.json", "more than 100")


# ---- rotation ---------------------------------------------------------------------------


def replace(path, write):
    """Whole, as careful people do it."""
    new = path.with_name(f"{path.name}.new")
    write(new)
    new.rename(path)


def as_files(folder, *kids):
    keys = {"old": OLD, "new": NEW}
    return setting(folder, {kid: keys[kid] for kid in kids})


def as_set(folder, *kids):
    keys = {"old": OLD, "new": NEW}
    text = jwks(*(keys[kid].jwk(kid=kid) for kid in kids))
    replace(folder / "jwks.json", lambda path: path.write_text(text))
    return "{ algorithms: [ES256], jwks_file: jwks.json }"


@pytest.mark.parametrize("how", [as_files, as_set])
def test_keys_are_exchanged_without_a_restart(tmp_path, how):
    """The new one beside the old one, then without it. Tokens that were accepted, and are known
    to every worker, are looked at again."""
    old, new = OLD.token({"sub": "u"}, kid="old"), NEW.token({"sub": "u"}, kid="new")
    with serve(tmp_path, how(tmp_path, "old"), "workers: 2\n") as server:
        workers = [server.connection() for _ in range(8)]

        def all_are(token, expected):
            return all(status(server, token, one) == expected for one in workers)

        def change(*kids):
            server.write_rules(f"workers: 2\nidentity: {{ jwt: {how(tmp_path, *kids)} }}\n{RULES}")

        assert all_are(old, 200) and all_are(new, 401)
        change("old", "new")
        wait_until(lambda: all_are(new, 200), "the new key")
        assert all_are(old, 200)
        change("new")
        wait_until(lambda: all_are(old, 401), "the end of the old key")
        assert all_are(new, 200)
        is_refused(ask(server, "check", "user", bearer(old)), "no key of that kid")
        for one in workers:
            one.close()


@pytest.mark.parametrize("by", ["change", "signal", "call"])
def test_a_key_file_that_changed_is_read_again(tmp_path, by):
    """The rules file stays as it is."""
    jwt = setting(tmp_path, {None: OLD})
    old, new = OLD.token({"sub": "u"}), NEW.token({"sub": "u"})
    with serve(tmp_path, jwt) as server:
        connection = server.connection()
        assert status(server, old, connection) == 200
        replace(tmp_path / "key-0", NEW.write)
        if by == "signal":
            hang_up(server)
        elif by == "call":
            assert server.ask("POST", "/v1/reload").json["reloaded"] is True
            assert status(server, old, connection) == 401
        wait_until(lambda: status(server, new, connection) == 200, "the new key")
        assert status(server, old, connection) == 401
        connection.close()


def test_what_a_known_token_must_say_may_change_too(tmp_path):
    jwt = setting(tmp_path, {None: SECRET})
    token = SECRET.token({"sub": "u", "aud": "web"})
    with serve(tmp_path, jwt) as server:
        connection = server.connection()
        assert status(server, token, connection) == 200
        strict = setting(tmp_path, {None: SECRET}, more=", audience: api")
        server.write_rules(f"identity: {{ jwt: {strict} }}\n{RULES}")
        wait_until(lambda: status(server, token, connection) == 401, "the audience")
        other = setting(tmp_path, {None: SECRET}, more=", claims: { user: aud }")
        server.write_rules(f"identity: {{ jwt: {other} }}\n{RULES}")
        wait_until(lambda: status(server, token, connection) == 200, "other claims")
        assert used(server, "user", "web") == 1
        connection.close()


# ---- what is no key ---------------------------------------------------------------------


def pem_of(private):
    return private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def certificate(folder):
    return certificates.self_signed(folder).certificate.read_bytes()


def pkcs1(_):
    return key_of("RS256").private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.PKCS1)


def damaged(_):
    lines = key_of("RS256").public_pem.splitlines(keepends=True)
    return b"".join(lines[:2] + lines[3:])


PEMS = {
    "empty": (lambda _: b"", "no public key"),
    "text": (lambda _: b"swordfish and some more words\n" * 9, "no public key"),
    "a private key": (lambda _: OLD.private_pem, "private key"),
    "a private RSA key": (lambda _: key_of("RS256").private_pem, "private key"),
    "a public key, then a private one": (lambda _: OLD.public_pem + OLD.private_pem,
                                         "private key"),
    "a private key of the old kind": (lambda _: key_of("RS256").private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption()), "private key"),
    "two keys": (lambda _: OLD.public_pem + NEW.public_pem, "two public keys"),
    "a certificate": (certificate, "certificate"),
    "PKCS #1": (pkcs1, "PKCS #1"),
    "damaged": (damaged, "damaged"),
    "RSA of 1024 bits": (lambda _: pem_of(rsa_key(1024)), "2048"),
    "P-384": (lambda _: pem_of(ec.generate_private_key(ec.SECP384R1())), "P-256"),
    "secp256k1": (lambda _: pem_of(ec.generate_private_key(ec.SECP256K1())), "P-256"),
    "Ed448": (lambda _: pem_of(ed448.Ed448PrivateKey.generate()), "kind"),
    "X25519": (lambda _: pem_of(x25519.X25519PrivateKey.generate()), "kind"),
    "a kind that no algorithm takes": (lambda _: key_of("EdDSA").public_pem, "algorithms"),
    "a megabyte": (lambda _: OLD.public_pem + b" " * (1 << 20), "cannot be read"),
}
SECRETS = {
    "empty": (b"", "32 bytes"),
    "31 bytes": (b"swordfish-swordfish-swordfish-s", "32 bytes"),
    "31 bytes and a newline": (b"swordfish-swordfish-swordfish-s\n", "32 bytes"),
    "a public key": (OLD.public_pem, "PEM"),
}
RSA = key_of("RS256").jwk()
SETS = {
    "empty": (b"", "no JSON Web Key Set"),
    "text": (b"swordfish and some more words", "no JSON Web Key Set"),
    "an array": (json.dumps([RSA]).encode(), "no JSON Web Key Set"),
    "a key alone": (json.dumps(RSA).encode(), "no JSON Web Key Set"),
    "keys that are no list": (json.dumps({"keys": {"a": RSA}}).encode(), "no JSON Web Key Set"),
    "keys twice": (b'{"keys": [], "keys": []}', "twice"),
    "none": (jwks(), "no key that can be used"),
    "none of ours": (jwks({"kty": "EC", "crv": "P-521", "x": "AA", "y": "AA"},
                          key_of("RS256").jwk(use="enc"), key_of("RS256").jwk(alg="RS512")),
                     "no key that can be used"),
    "no objects": (jwks("key"), "not an object"),
    "one kid twice": (jwks(OLD.jwk(kid="a"), NEW.jwk(kid="a")), "kid"),
    "a private member": (jwks({**RSA, "d": number(12345678901234567890)}), "private"),
    "a private member of P-256": (jwks(OLD.jwk(d="c3dvcmRmaXNoLXN3b3JkZmlzaA")), "private"),
    "RSA of 1024 bits": (jwks(Key("RS256", rsa_key(1024)).jwk()), "2048"),
    "an exponent of 1": (jwks({**RSA, "e": number(1)}), "exponent"),
    "an even exponent": (jwks({**RSA, "e": number(65536)}), "exponent"),
    "no modulus": (jwks({"kty": "RSA", "e": "AQAB"}), "`n`"),
    "an even modulus": (jwks({**RSA, "n": number(2 ** 2047)}), "no public key"),
    "no point of the curve": (jwks({**OLD.jwk(), "y": OLD.jwk()["x"]}), "P-256"),
    "a short coordinate": (jwks({**OLD.jwk(), "y": "AQAB"}), "32 bytes"),
    "a short secret": (jwks({"kty": "oct", "k": "c3dvcmRmaXNoLXN3b3JkZmlzaA"}), "32 bytes"),
    "base64 with padding": (jwks({**RSA, "e": "AQAB="}), "base64url"),
}
NAMED = {"pem_file": ("[RS256, ES256]", "keys: [{ pem_file: bad }]"),
         "secret_file": ("[HS256]", "keys: [{ secret_file: bad }]"),
         "jwks_file": ("[HS256, RS256, ES256]", "jwks_file: bad")}


def says_nothing_of(content, text):
    """No line of the file, nor a piece of 12 bytes from the middle of one."""
    data = content if isinstance(content, bytes) else content.encode()
    for line in data.decode("latin-1").splitlines():
        pieces = [line[at:at + 12] for at in range(0, len(line) - 11, 12)]
        for piece in (one for one in pieces if "-----" not in one and one.strip()):
            assert piece not in text


def refuses_to_start(folder, jwt, name, phrase, content=b""):
    (folder / "rules.yaml").write_text(
        f"listen: {{ http: '127.0.0.1:0' }}\nidentity: {{ jwt: {jwt} }}\n{RULES}")
    done = run("serve", "-c", str(folder / "rules.yaml"))
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1, done.err
    assert str(folder / name) in done.err and phrase in done.err, done.err
    says_nothing_of(content, done.err)


@pytest.mark.parametrize("kind, name", [
    *(("pem_file", name) for name in PEMS), *(("secret_file", name) for name in SECRETS),
    *(("jwks_file", name) for name in SETS),
])
def test_what_is_no_key_keeps_the_server_from_starting(tmp_path, kind, name):
    content, phrase = {"pem_file": PEMS, "secret_file": SECRETS, "jwks_file": SETS}[kind][name]
    content = content(tmp_path) if callable(content) else content
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "bad").write_bytes(data)
    algorithms, keys = NAMED[kind]
    refuses_to_start(tmp_path, f"{{ algorithms: {algorithms}, {keys} }}", "bad", phrase, data)


@pytest.mark.parametrize("kind", NAMED)
def test_a_file_that_is_not_there_keeps_the_server_from_starting(tmp_path, kind):
    algorithms, keys = NAMED[kind]
    jwt = f"{{ algorithms: {algorithms}, {keys} }}"
    refuses_to_start(tmp_path, jwt, "bad", "cannot be read")
    (tmp_path / "bad").mkdir()
    refuses_to_start(tmp_path, jwt, "bad", "cannot be read")


def test_a_secret_of_32_bytes_is_enough(tmp_path):
    key = Key("HS256", b"swordfish-swordfish-swordfish-sw")
    assert len(key.private) == 32
    with serve(tmp_path, setting(tmp_path, {None: key})) as server:
        assert status(server, key.token({"sub": "u"})) == 200


def test_at_a_reload_the_keys_in_force_stay(tmp_path):
    jwt = setting(tmp_path, {None: OLD})
    path, token = tmp_path / "key-0", OLD.token({"sub": "u"})
    with serve(tmp_path, jwt) as server:
        connection = server.connection()
        for content in (b"swordfish and some more words\n", OLD.private_pem, b"", None):
            said = len(server.stderr)
            if content is None:
                path.unlink()
                hang_up(server)
            else:
                replace(path, lambda new: new.write_bytes(content))
            wait_until(lambda: str(path) in server.stderr[said:], "the problem")
            answer = server.ask("POST", "/v1/reload")
            assert answer.status == 422
            assert str(path) in json.dumps(answer.json)
            for text in (server.stderr, answer.body.decode()):
                says_nothing_of(content or b"", text)
            assert status(server, token, connection) == 200
            assert status(server, OLD.token({"sub": "another"}), connection) == 200
        replace(path, NEW.write)
        wait_until(lambda: status(server, NEW.token({"sub": "u"}), connection) == 200, "the new")
        assert status(server, token, connection) == 401
        connection.close()
