"""Headers of the PROXY protocol, versions 1 and 2, and a listener that expects one."""

import socket
import struct

LISTEN = {"http": {"address": "127.0.0.1:0", "proxy_protocol": True}}
V2 = b"\r\n\r\n\x00\r\nQUIT\n"


def v1(address, family="TCP4", to="127.0.0.1"):
    return f"PROXY {family} {address} {to} 4711 80\r\n".encode()


def v2(address=None, extra=b"", command=0x21):
    """LOCAL where there is no address."""
    if address is None:
        return V2 + struct.pack("!BBH", 0x20, 0, len(extra)) + extra
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    ends = packed + packed + struct.pack("!HH", 4711, 80) + extra
    kind = 0x21 if family == socket.AF_INET6 else 0x11
    return V2 + struct.pack("!BBH", command, kind, len(ends)) + ends
