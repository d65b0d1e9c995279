"""A certificate authority that lives as long as one cluster, and a client certificate per actor."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID

from hintbound.kube import certificates
from hintbound.kube.certificates import named


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Paths of one certificate and its private key, both PEM."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates into one folder that only we may read."""

    def __init__(self, folder: Path, own: tuple[bytes, bytes] | None = None) -> None:
        """`own`: certificate and key, PEM, of an authority that is there already; else a new one is made."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        if own is None:
            self._key, self._name = self._make()
        else:
            self._key, self._name = self._take(*own)

    @property
    def cert(self) -> Path:
        """The authority's own certificate: what clients trust."""
        return self._folder / "ca.crt"

    def server(self, name: str) -> KeyPair:
        """A serving certificate for loopback, which may also be a client (etcd needs both)."""
        names = [x509.DNSName("localhost"), x509.DNSName("kubernetes.default.svc")]
        loopback = [x509.IPAddress(ipaddress.ip_address(ip)) for ip in ("127.0.0.1", "::1", "10.0.0.1")]
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._sign(name, named(name), both, x509.SubjectAlternativeName([*names, *loopback]))

    def client(self, user: str, *groups: str) -> KeyPair:
        """A client certificate: the apiserver reads the user from CN and the groups from O."""
        file = user.replace(":", "-")
        return self._sign(file, named(user, *groups), [ExtendedKeyUsageOID.CLIENT_AUTH], None)

    def signing_key(self, name: str) -> KeyPair:
        """A key for service account tokens, with a certificate that holds its public half."""
        return self._sign(name, named(name), [ExtendedKeyUsageOID.CLIENT_AUTH], None)

    def _make(self) -> tuple[CertificateIssuerPrivateKeyTypes, x509.Name]:
        key, name = ec.generate_private_key(ec.SECP256R1()), named("hintbound-ca")
        self._write("ca", certificates.authority(name, key.public_key()), key, signer=key)
        return key, name

    def _take(self, cert: bytes, key: bytes) -> tuple[CertificateIssuerPrivateKeyTypes, x509.Name]:
        self.cert.write_bytes(cert)
        signer = serialization.load_pem_private_key(key, password=None)
        assert isinstance(signer, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey), "what kubeadm makes"
        return signer, x509.load_pem_x509_certificate(cert).subject

    def _sign(
        self,
        file: str,
        subject: x509.Name,
        usages: list[x509.ObjectIdentifier],
        names: x509.SubjectAlternativeName | None,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = certificates.signed(subject, self._name, key.public_key(), usages, names)
        return self._write(file, builder, key, signer=self._key)

    def _write(
        self,
        file: str,
        builder: x509.CertificateBuilder,
        key: ec.EllipticCurvePrivateKey,
        *,
        signer: CertificateIssuerPrivateKeyTypes,
    ) -> KeyPair:
        pair = KeyPair(self._folder / f"{file}.crt", self._folder / f"{file}.key")
        pair.cert.write_bytes(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        # EC PRIVATE KEY, not PKCS#8: the apiserver's service account loader reads both, older etcd only this.
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        with os.fdopen(os.open(pair.key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file_:
            file_.write(pem)
        return pair
