"""Certificates for a test: made by openssl, for 127.0.0.1 and localhost, thrown away."""

import subprocess

NAMES = "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost"
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


class Pair:
    """A certificate and its key: two PEM files."""

    def __init__(self, folder, name):
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        self.listed = f"{{ certificate: {self.certificate.name}, key: {self.key.name} }}"


def self_signed(folder, name="server"):
    pair = Pair(folder, name)
    openssl("req", "-x509", *CURVE, "-keyout", pair.key, "-out", pair.certificate, "-days", "30",
            "-subj", f"/CN={name}", "-addext", NAMES)
    return pair


def signed(folder, name, ca):
    """One that `ca` vouches for."""
    pair, request, more = Pair(folder, name), folder / f"{name}.csr", folder / f"{name}.ext"
    more.write_text(f"{NAMES}\n", encoding="ascii")
    openssl("req", *CURVE, "-keyout", pair.key, "-out", request, "-subj", f"/CN={name}")
    openssl("x509", "-req", "-in", request, "-CA", ca.certificate, "-CAkey", ca.key,
            "-CAcreateserial", "-days", "30", "-out", pair.certificate, "-extfile", more)
    return pair
