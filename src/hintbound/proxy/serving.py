"""What a listener serves with: an authority that lives in this process, and certificates for loopback."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from hintbound.kube import certificates


class ServingAuthority:
    """Signs what listeners serve with. Its key is never written anywhere."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = certificates.named("hintbound-proxy-ca")
        builder = certificates.authority(self._name, self._key.public_key())
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> str:
        """What clients trust."""
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def context(self) -> ssl.SSLContext:
        """TLS settings of a listener on loopback that speaks HTTP/1.1 and nothing else."""
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName("localhost")]
        names += [x509.IPAddress(ipaddress.ip_address(ip)) for ip in ("127.0.0.1", "::1")]
        builder = certificates.signed(
            certificates.named("hintbound-proxy"),
            self._name,
            key.public_key(),
            [ExtendedKeyUsageOID.SERVER_AUTH],
            x509.SubjectAlternativeName(names),
        )
        certificate = builder.sign(self._key, hashes.SHA256())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        context.num_tickets = 0  # nobody resumes sessions here, and each ticket costs a write
        # The ssl module takes files only; they are gone before anybody is served.
        with tempfile.TemporaryDirectory(prefix="hintbound-proxy-") as folder:
            pair = Path(folder) / "pair.pem"
            pair.write_bytes(
                key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
                + certificate.public_bytes(serialization.Encoding.PEM)
            )
            context.load_cert_chain(pair)
        return context
