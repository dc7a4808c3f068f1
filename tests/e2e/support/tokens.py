"""Keys and tokens for a test: made here, of every algorithm, thrown away.

    key = key_of("RS256")                  # the same every time; of another number, another
    key.write(folder / "rs.pem")           # what the server gets
    bearer(key.token({"sub": "u1"}))       # what a client sends, by PyJWT

A hostile one is put together by hand, since PyJWT refuses to make it: `signed` takes the
bytes of header and claims as they are, and any function for a signature.
"""

import base64
import functools
import hashlib
import hmac
import json
import os

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

ALGORITHMS = ["HS256", "RS256", "PS256", "ES256", "EdDSA"]
RSA_BITS = 2048


def b64(data):
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(value, size=None):
    """A number as a JSON Web Key writes it."""
    return b64(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def as_json(value):
    """What is not bytes already, as JSON."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def signed(header, claims, sign):
    """header.claims.signature, whatever these are."""
    text = f"{b64(as_json(header))}.{b64(as_json(claims))}"
    return f"{text}.{b64(sign(text.encode()))}"


def hmac_of(secret):
    """A function for `signed`: HS256 with any bytes as the secret."""
    return lambda text: hmac.new(secret, text, hashlib.sha256).digest()


class Key:
    """What signs, and what checks it. `private` is an object of cryptography's, or the bytes of a
    secret."""

    def __init__(self, algorithm, private):
        self.algorithm, self.private = algorithm, private

    # ---- what the server gets ----

    @property
    def is_secret(self):
        return isinstance(self.private, bytes)

    @property
    def public_pem(self):
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    @property
    def private_pem(self):
        return self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption())

    def jwk(self, **more):
        """As a member of a JSON Web Key Set, `kid` and the like besides."""
        return {**self._jwk(), **more}

    def _jwk(self):
        if self.is_secret:
            return {"kty": "oct", "k": b64(self.private)}
        public = self.private.public_key()
        if isinstance(public, rsa.RSAPublicKey):
            numbers = public.public_numbers()
            return {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        if isinstance(public, ec.EllipticCurvePublicKey):
            numbers = public.public_numbers()
            size = (public.curve.key_size + 7) // 8
            curve = {"secp256r1": "P-256", "secp384r1": "P-384", "secp256k1": "secp256k1"}
            return {"kty": "EC", "crv": curve[public.curve.name], "x": number(numbers.x, size),
                    "y": number(numbers.y, size)}
        raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return {"kty": "OKP", "crv": "Ed25519", "x": b64(raw)}

    def write(self, path):
        """The file for `secret_file` or `pem_file`."""
        path.write_bytes(self.private if self.is_secret else self.public_pem)

    # ---- what a client gets ----

    def sign(self, text):
        """A function for `signed`."""
        return get_default_algorithms()[self.algorithm].sign(text, self.private)

    def token(self, claims, **header):
        return jwt.encode(claims, self.private, self.algorithm, headers=header)

    def forged(self, claims, header=(), sign=None):
        """As `token`, byte by byte; `header` is members more, or all of it as bytes."""
        if not isinstance(header, bytes):
            header = {"alg": self.algorithm, "typ": "JWT", **dict(header)}
        return signed(header, claims, sign or self.sign)


def rsa_key(bits=RSA_BITS, exponent=65537):
    return rsa.generate_private_key(exponent, bits)


@functools.lru_cache(maxsize=None)
def key_of(algorithm, which=0):
    """A key for this algorithm; of another number, another one."""
    del which  # it tells the cache
    make = {"HS256": lambda: os.urandom(24).hex().encode(), "RS256": rsa_key, "PS256": rsa_key,
            "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
            "EdDSA": ed25519.Ed25519PrivateKey.generate}
    return Key(algorithm, make[algorithm]())


def jwks(*keys):
    """The text of a set of such members."""
    return json.dumps({"keys": list(keys)})


def setting(folder, keys, algorithms=None, more=""):
    """Writes {kid: key} into files, and gives the value of `identity.jwt` that names them. A kid
    of None is none."""
    rows = []
    for place, (kid, key) in enumerate(keys.items()):
        path = folder / f"key-{place}"
        key.write(path)
        row = {"secret_file" if key.is_secret else "pem_file": path.name}
        rows.append({"kid": kid, **row} if kid else row)
    names = algorithms or list(dict.fromkeys(key.algorithm for key in keys.values()))
    return f"{{ algorithms: {json.dumps(names)}, keys: {json.dumps(rows)}{more} }}"
