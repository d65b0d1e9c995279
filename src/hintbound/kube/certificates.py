"""Certificates that live as long as one run: what is the same of every authority that we make, and of all
that it signs."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LIFETIME = datetime.timedelta(days=30)
_SLACK = datetime.timedelta(minutes=5)


def named(common: str, *organisations: str) -> x509.Name:
    """A subject: what Kubernetes reads as a user and its groups."""
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organisations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def authority(name: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    """The certificate of an authority, for itself to sign; it can have no other below it."""
    return _builder(name, name, key, signs=True)


def signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    usages: Sequence[x509.ObjectIdentifier],
    names: x509.SubjectAlternativeName | None = None,
) -> x509.CertificateBuilder:
    """A certificate for `issuer` to sign, for these extended usages; `names`: under which it serves."""
    builder = _builder(subject, issuer, key, signs=False)
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    return builder if names is None else builder.add_extension(names, critical=False)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, signs: bool
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=issuer,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=now - _SLACK,
        not_valid_after=now + _LIFETIME,
    )
    constraints = x509.BasicConstraints(ca=signs, path_length=0 if signs else None)
    builder = builder.add_extension(constraints, critical=True)
    return builder.add_extension(_usage(signs=signs), critical=True)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
