"""A certificate authority, a server and a client of it, as PEM files."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Pair:
    cert: Path
    key: Path


class Authority:
    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        self.ca = self._sign(name, _builder(self._name, self._name, self._key, constraints)).cert

    def server(self, dns: str = "localhost", ip: str = "127.0.0.1") -> ssl.SSLContext:
        """A server's settings: asks for a client certificate, and lets those without one in."""
        names = x509.SubjectAlternativeName([x509.DNSName(dns), x509.IPAddress(ipaddress.ip_address(ip))])
        pair = self._pair(f"server-{dns}", names)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_cert_chain(pair.cert, pair.key)
        return context

    def user(self, name: str, *groups: str) -> Pair:
        return self._pair(name, groups=groups)

    def server_pair(self) -> Pair:
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        return self._pair("server", names)

    def _pair(self, name: str, *extensions: x509.ExtensionType, groups: tuple[str, ...] = ()) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        pair = self._sign(name, _builder(_name(name, *groups), self._name, key, *extensions))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        return pair

    def _sign(self, name: str, builder: x509.CertificateBuilder) -> Pair:
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        certificate = builder.sign(self._key, hashes.SHA256())
        pair.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return pair


def _name(name: str, *groups: str) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name), *organisations])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(
        issuer, subject, key.public_key(), x509.random_serial_number(), now, now + datetime.timedelta(days=1)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder
