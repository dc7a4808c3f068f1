"""Tokens that are made to be believed and must not be. Each is 401, with what is wrong with it,
and leaves no trace in any counts.

All but a few are signed well, by a key that the server has: it is what they say, or how they say
it, that is refused. Keys have their algorithm as `kid`.
"""

import hashlib
import json

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

import counting
from counting import WAYS, ask, strangers, used
from serving import Server
from test_jwt import is_refused
from tokens import ALGORITHMS, b64, bearer, hmac_of, key_of, setting, signed, unb64

HS, RS, PS, ES, ED = (key_of(algorithm) for algorithm in ALGORITHMS)
CLAIMS = {"sub": "victim"}
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256's points
ORDER_ED = 2 ** 252 + 27742317777372353535851937790883648493
TOO_LONG = 8193

GOOD = HS.token(CLAIMS)
HEAD, BODY, SIGNATURE = GOOD.split(".")


def header(key=HS, **members):
    """A token whose header has these besides, or instead."""
    return key.forged(CLAIMS, members)


def raw_header(text):
    return HS.forged(CLAIMS, text)


def raw_claims(text):
    return HS.forged(text)


def alg(value, sign=HS.sign):
    return signed({"alg": value, "typ": "JWT"}, CLAIMS, sign)


def resigned(key, change):
    """A good signature, changed."""
    return key.forged(CLAIMS, sign=lambda text: change(key.sign(text)))


def confused(secret, **members):
    """HS256 with something that is public."""
    return signed({"alg": "HS256", **members}, CLAIMS, hmac_of(secret))


def public_der(key):
    return key.private.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def der_of(signature):
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    return encode_dss_signature(r, s)


def pair(r, s):
    return lambda _: r.to_bytes(32, "big") + s.to_bytes(32, "big")


def plus_order(signature):
    """The same point, another number: what RFC 8032 asks to refuse."""
    s = int.from_bytes(signature[32:], "little") + ORDER_ED
    return signature[:32] + s.to_bytes(32, "little")


def pkcs1(digest):
    return lambda text: RS.private.sign(text, padding.PKCS1v15(), digest)


def pss(digest, salt):
    return lambda text: PS.private.sign(text, padding.PSS(padding.MGF1(digest), salt), digest)


def of_length(length):
    """A good token of just so many bytes."""
    for pad in range(4):
        head = {"alg": "HS256", "pad": "p" * pad}
        for filler in range(length * 3 // 4 - 150, length * 3 // 4):
            token = HS.forged({**CLAIMS, "filler": "f" * filler}, json.dumps(head).encode())
            if len(token) == length:
                return token
    raise AssertionError(f"there is no token of {length} bytes")


def flipped(part):
    """The good token with one bit of a part changed, the first of its last whole byte."""
    parts = GOOD.split(".")
    data = bytearray(unb64(parts[part]))
    data[-1] ^= 1
    parts[part] = b64(bytes(data))
    return ".".join(parts)


def loose_end():
    """Two bits of the last character say nothing, and are not zero."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return GOOD[:-1] + alphabet[alphabet.index(GOOD[-1]) | 1]


def other_alphabet():
    token = HS.token({"sub": "?" * 9})
    assert "_" in token.split(".")[1]
    return token.replace("_", "/").replace("-", "+")


def own_key(**members):
    """Signed by the attacker's key, which the token brings along."""
    mine = key_of("RS256", "attacker")
    members = {name: mine.jwk() if value is None else value for name, value in members.items()}
    return mine.forged(CLAIMS, members)


NOT_BASE64, NOT_THREE, EMPTY = "not base64url", "three parts", "part of the token is empty"
WRONG, NOT_OF_KEY, NOT_TAKEN = "signature is wrong", "not one of its key", "alg of the token is not"
LENGTH = "does not have the length"
TOO_DEEP = '{"alg":"HS256","a":' + "[" * 8 + "]" * 8 + "}"  # one deeper than may be

HOSTILE = {
    # three parts of strict base64url
    "one part": ("token", NOT_THREE),
    "two parts": (f"{HEAD}.{BODY}", NOT_THREE),
    "four parts": (f"{GOOD}.{SIGNATURE}", NOT_THREE),
    "five parts, as if encrypted": (f"{GOOD}.{BODY}.{SIGNATURE}", NOT_THREE),
    "only dots": ("..", EMPTY),
    "no header": (f".{BODY}.{SIGNATURE}", EMPTY),
    "no claims": (f"{HEAD}..{SIGNATURE}", EMPTY),
    "no signature": (f"{HEAD}.{BODY}.", EMPTY),
    "padding": (f"{HEAD}.{BODY}.{SIGNATURE}=", NOT_BASE64),
    "padding inside": (f"{HEAD}==.{BODY}.{SIGNATURE}", NOT_BASE64),
    "the other alphabet": (other_alphabet(), NOT_BASE64),
    "loose bits at the end": (loose_end(), NOT_BASE64),
    "a single character more": (f"{HEAD}.{BODY}.{SIGNATURE}AA", NOT_BASE64),
    "percent encoded": (GOOD.replace(".", "%2E"), NOT_THREE),
    "a space": (f"{HEAD}. {BODY}.{SIGNATURE}", NOT_BASE64),
    "a comma behind it": (f"{GOOD},", NOT_BASE64),
    "quoted": (f'"{GOOD}"', NOT_BASE64),
    "JSON serialization": (json.dumps({"payload": BODY, "signature": SIGNATURE}), NOT_THREE),
    "too long": (of_length(TOO_LONG), "longer than 8192"),

    # header: what JSON
    "a header that is no JSON": (raw_header(b"alg=HS256"), "header part is not JSON"),
    "an array as header": (raw_header(b'["alg","HS256"]'), "not a JSON object"),
    "a string as header": (raw_header(b'"HS256"'), "not a JSON object"),
    "something behind the header": (raw_header(b'{"alg":"HS256"} {}'), "header part is not JSON"),
    "a byte order mark": (raw_header(b'\xef\xbb\xbf{"alg":"HS256"}'), "header part is not JSON"),
    "a header too deep": (raw_header(TOO_DEEP.encode()), "nested deeper than 8"),
    "a header of brackets": (raw_header(b"[" * 4000), "nested deeper than 8"),
    "two algs": (raw_header(b'{"alg":"HS256","alg":"HS256"}'), "member twice"),
    "two algs, one escaped": (raw_header(b'{"alg":"none","\\u0061lg":"HS256"}'), "member twice"),
    "two kids": (raw_header(b'{"alg":"HS256","kid":"HS256","kid":"RS256"}'), "member twice"),
    "a header that is no UTF-8": (raw_header(b'{"alg":"HS256","x":"\xff"}'), "not UTF-8"),
    "a NUL in a name": (raw_header(b'{"alg":"HS256","alg\\u0000":"none"}'), "NUL"),

    # alg
    "alg none, unsigned": (signed({"alg": "none"}, CLAIMS, lambda _: b""), EMPTY),
    "alg none, signed": (alg("none"), NOT_TAKEN),
    "alg None": (alg("None"), NOT_TAKEN),
    "alg NONE": (alg("NONE"), NOT_TAKEN),
    "alg nOnE": (alg("nOnE"), NOT_TAKEN),
    "an empty alg": (alg(""), NOT_TAKEN),
    "no alg": (signed({"typ": "JWT"}, CLAIMS, HS.sign), "has no alg"),
    "alg null": (alg(None), "alg in the header is not a string"),
    "a list of algs": (alg(["HS256"]), "alg in the header is not a string"),
    "a number as alg": (alg(256), "alg in the header is not a string"),
    "alg in lower case": (alg("hs256"), NOT_TAKEN),
    "alg with a space": (alg("HS256 "), NOT_TAKEN),
    "alg HS512": (alg("HS512", lambda text: hashlib.sha512(text).digest()), NOT_TAKEN),
    "alg RS512": (alg("RS512", pkcs1(hashes.SHA512())), NOT_TAKEN),
    "alg ES256K": (alg("ES256K", ES.sign), NOT_TAKEN),
    "alg dir": (alg("dir"), NOT_TAKEN),
    "an alg of another key": (RS.forged(CLAIMS, {"kid": "ES256"}), NOT_OF_KEY),
    "HS256 for RSA's key, by its kid": (HS.forged(CLAIMS, {"kid": "RS256"}), NOT_OF_KEY),

    # a public key as a secret
    "RSA's PEM as a secret": (confused(RS.public_pem), WRONG),
    "RSA's PEM as a secret, by its kid": (confused(RS.public_pem, kid="RS256"), NOT_OF_KEY),
    "RSA's PEM without its last newline": (confused(RS.public_pem.rstrip()), WRONG),
    "RSA's DER as a secret": (confused(public_der(RS), kid="RS256"), NOT_OF_KEY),
    "P-256's PEM as a secret": (confused(ES.public_pem, kid="ES256"), NOT_OF_KEY),
    "Ed25519's PEM as a secret": (confused(ED.public_pem), WRONG),
    "Ed25519's bytes as a secret": (confused(public_der(ED)[-32:], kid="EdDSA"), NOT_OF_KEY),
    "nothing as a secret": (confused(b""), WRONG),
    "a NUL as a secret": (confused(b"\0"), WRONG),

    # signatures
    "a bit of the claims changed": (flipped(1), WRONG),
    "a bit of the signature changed": (flipped(2), WRONG),
    "another token's signature": (f"{HEAD}.{BODY}.{HS.token({'sub': 'me'}).split('.')[2]}", WRONG),
    "another's key": (key_of("HS256", "attacker").token(CLAIMS), WRONG),
    "half a signature": (resigned(HS, lambda made: made[:16]), LENGTH),
    "a signature and more": (resigned(HS, lambda made: made + b"\0"), LENGTH),
    "ECDSA in DER": (resigned(ES, der_of), LENGTH),
    "ECDSA of zeros": (ES.forged(CLAIMS, sign=pair(0, 0)), WRONG),
    "ECDSA of the order": (ES.forged(CLAIMS, sign=pair(ORDER, ORDER)), WRONG),
    "ECDSA of the largest numbers": (ES.forged(CLAIMS, sign=pair(2 ** 256 - 1, 1)), WRONG),
    "ECDSA and a byte": (resigned(ES, lambda made: made + b"\0"), LENGTH),
    "ECDSA turned round": (resigned(ES, lambda made: made[32:] + made[:32]), WRONG),
    "EdDSA of zeros": (ED.forged(CLAIMS, sign=lambda _: bytes(64)), WRONG),
    "EdDSA plus the order": (resigned(ED, plus_order), WRONG),
    "EdDSA cut off": (resigned(ED, lambda made: made[:63]), LENGTH),
    "RSA of zeros": (RS.forged(CLAIMS, sign=lambda _: bytes(256)), WRONG),
    "RSA and a zero before": (resigned(RS, lambda made: b"\0" + made), LENGTH),
    "RSA cut off": (resigned(RS, lambda made: made[:255]), LENGTH),
    "RS256 by SHA-1": (RS.forged(CLAIMS, sign=pkcs1(hashes.SHA1())), WRONG),
    "RS256 by SHA-512": (RS.forged(CLAIMS, sign=pkcs1(hashes.SHA512())), WRONG),
    "RS256 that is signed as PS256": (PS.forged(CLAIMS, {"alg": "RS256", "kid": "PS256"}), WRONG),
    "PS256 that is signed as RS256": (RS.forged(CLAIMS, {"alg": "PS256", "kid": "RS256"}), WRONG),
    "PS256 without salt": (PS.forged(CLAIMS, sign=pss(hashes.SHA256(), 0)), WRONG),
    "PS256 with more salt": (PS.forged(CLAIMS, sign=pss(hashes.SHA256(), 64)), WRONG),

    # what would change the meaning
    "crit": (header(crit=["exp"], exp=1), "crit"),
    "an empty crit": (header(crit=[]), "crit"),
    "crit of b64": (header(crit=["b64"], b64=True), "crit"),
    "b64 false": (header(b64=False), "b64"),
    "b64 true": (header(b64=True), "b64"),
    "zip": (header(zip="DEF"), "zip"),
    "enc": (header(enc="A128GCM"), "enc"),
    "typ JWE": (header(typ="JWE"), "typ"),
    "typ of logout tokens": (header(typ="logout+jws"), "typ"),
    "a number as typ": (header(typ=1), "typ"),
    "typ with more behind it": (header(typ="JWT;x"), "typ"),
    "typ of another tree": (header(typ="text/jwt"), "typ"),

    # which key
    "an unknown kid": (header(kid="nobody"), "no key of that kid"),
    "an empty kid": (header(kid=""), "no key of that kid"),
    "a path as kid": (header(kid="../../../../dev/null"), "no key of that kid"),
    "a kid and a NUL": (header(kid="HS256\0x"), "NUL"),
    "a kid in another case": (header(kid="hs256"), "no key of that kid"),
    "a number as kid": (header(kid=1), "kid in the header is not a string"),
    "kid null": (header(kid=None), "kid in the header is not a string"),
    "the kid of another key": (key_of("RS256", "attacker").forged(CLAIMS, {"kid": "PS256"}),
                               WRONG),
    "its own key": (own_key(jwk=None), WRONG),
    "its own key by kid": (own_key(jwk=None, kid="RS256"), WRONG),
    "its own key's address": (own_key(jku="http://127.0.0.1:1/jwks.json"), WRONG),
    "its own certificate's address": (own_key(x5u="http://127.0.0.1:1/x.pem"), WRONG),
    "its own certificate": (own_key(x5c=["MIIB"]), WRONG),

    # claims
    "claims that are no JSON": (raw_claims(b"sub=victim"), "claims part is not JSON"),
    "claims in an array": (raw_claims(b'[{"sub":"victim"}]'), "not a JSON object"),
    "claims null": (raw_claims(b"null"), "not a JSON object"),
    "something behind the claims": (raw_claims(b'{"sub":"victim"}x'), "claims part is not JSON"),
    "two subs": (raw_claims(b'{"sub":"me","sub":"victim"}'), "member twice"),
    "two subs, one escaped": (raw_claims(b'{"sub":"me","\\u0073ub":"victim"}'), "member twice"),
    "twice further in": (raw_claims(b'{"sub":"victim","a":{"b":1,"b":2}}'), "member twice"),
    "claims too deep": (raw_claims(b'{"sub":"victim","a":' + b"[" * 8 + b"]" * 8 + b"}"),
                        "nested deeper than 8"),
    "claims that are no UTF-8": (raw_claims(b'{"sub":"victim\xc0\x80"}'), "not UTF-8"),
    "a NUL in a claim": (raw_claims(b'{"sub":"victim\\u0000x"}'), "NUL"),
    "half a surrogate": (raw_claims(b'{"sub":"victim\\ud800"}'), "claims part is not"),
    "a number beyond numbers": (raw_claims(b'{"sub":"victim","exp":1e999}'), "number"),
    "NaN": (raw_claims(b'{"sub":"victim","exp":NaN}'), "claims part is not JSON"),
    "a comment": (raw_claims(b'{"sub":"victim"/**/}'), "claims part is not JSON"),
    "sub null": (raw_claims({"sub": None}), "claim that is used"),
    "sub in a list": (raw_claims({"sub": ["victim"]}), "claim that is used"),
    "sub in an object": (raw_claims({"sub": {"sub": "victim"}}), "claim that is used"),
    "exp as a string": (raw_claims({**CLAIMS, "exp": "9999999999"}), "exp is not a number"),
    "exp null": (raw_claims({**CLAIMS, "exp": None}), "exp is not a number"),
    "exp true": (raw_claims({**CLAIMS, "exp": True}), "exp is not a number"),
    "nbf in a list": (raw_claims({**CLAIMS, "nbf": [0]}), "nbf is not a number"),
    "iat as a string": (raw_claims({**CLAIMS, "iat": "0"}), "iat is not a number"),
    "exp 0": (raw_claims({**CLAIMS, "exp": 0}), "expired"),
    "exp before 1970": (raw_claims({**CLAIMS, "exp": -1e300}), "expired"),
    "nbf at the end of time": (raw_claims({**CLAIMS, "nbf": 1e300}), "not valid yet"),
    "iat at the end of time": (raw_claims({**CLAIMS, "iat": 9223372036854775807}), "future"),
}


@pytest.fixture(name="server", scope="module")
def with_every_algorithm(tmp_path_factory):
    """Everything counts globally too, so that nothing can be charged unseen; there is more of
    that, so that decisions speak for the user's rule."""
    folder = tmp_path_factory.mktemp("hostile")
    jwt = setting(folder, {algorithm: key_of(algorithm) for algorithm in ALGORITHMS})
    everything = "  - { name: all, per: global, algorithm: fixed_window, limit: 9999999/365d }\n"
    with Server(f"identity: {{ jwt: {jwt} }}\n{counting.rules('user', more=everything)}",
                folder=folder) as server:
        yield server


def charged(server):
    return used(server, "user", "victim"), server.check({"peek": True}).json["remaining"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_token_is_refused_and_charges_no_user(server, name, way):
    token, phrase = HOSTILE[name]
    before = charged(server)
    is_refused(ask(server, way, "user", bearer(token)), phrase)
    assert charged(server) == before
    assert before[0] == 0


@pytest.mark.parametrize("path, body", [
    ("/v1/reserve", {"resource": "/by/user"}), ("/v1/check", [{"resource": "/by/user"}]),
    ("/v1/commit", {"reservation": "00c0ffee00000001", "cost": 1}),
    ("/v1/cancel", {"reservation": "00c0ffee00000001"}),
])
def test_the_other_calls_refuse_it_too(server, path, body):
    before = charged(server)
    for name in ("alg none, signed", "RSA's PEM as a secret", "a bit of the claims changed"):
        token, phrase = HOSTILE[name]
        fields = {"X-Forwarded-For": next(strangers), **bearer(token)}
        is_refused(server.ask("POST", path, body, fields), phrase)
    assert charged(server) == before


@pytest.mark.parametrize("members", [
    {}, {"typ": "jwt"}, {"typ": "at+jwt"}, {"typ": "application/at+jwt"}, {"typ": "DPoP+JWT"},
    {"typ": "APPLICATION/JWT"}, {"jku": "http://127.0.0.1:1/"}, {"x5u": "http://127.0.0.1:1/"},
    {"jwk": key_of("HS256", "attacker").jwk()}, {"x5c": ["MIIB"]}, {"cty": "anything"},
    {"deep": [[[[[[[]]]]]]]},
], ids=str)
def test_what_is_harmless_is_not_refused(server, members):
    """Or none of the refusals above says much."""
    token = HS.forged({"sub": "harmless"}, members)
    assert ask(server, "check", "user", bearer(token)).status == 200


def test_a_token_of_8192_bytes_is_not_too_long(server):
    token = of_length(TOO_LONG - 1)
    assert ask(server, "check", "user", bearer(token), peek=True).status == 200
