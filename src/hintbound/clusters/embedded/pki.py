"""A certificate authority that lives as long as one cluster, and a client certificate per actor."""

from __future__ import annotations

import datetime
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=30)
_SLACK = datetime.timedelta(minutes=5)


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
        return self._sign(name, _name(name), both, x509.SubjectAlternativeName([*names, *loopback]))

    def client(self, user: str, *groups: str) -> KeyPair:
        """A client certificate: the apiserver reads the user from CN and the groups from O."""
        file = user.replace(":", "-")
        return self._sign(file, _name(user, *groups), [ExtendedKeyUsageOID.CLIENT_AUTH], None)

    def signing_key(self, name: str) -> KeyPair:
        """A key for service account tokens, with a certificate that holds its public half."""
        return self._sign(name, _name(name), [ExtendedKeyUsageOID.CLIENT_AUTH], None)

    def _make(self) -> tuple[CertificateIssuerPrivateKeyTypes, x509.Name]:
        key, name = ec.generate_private_key(ec.SECP256R1()), _name("hintbound-ca")
        builder = _builder(name, name, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        self._write("ca", builder, key, signer=key)
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
        builder = _builder(subject, self._name, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
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


def _name(common: str, *organisations: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organisations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=issuer,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=now - _SLACK,
        not_valid_after=now + _LIFETIME,
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
