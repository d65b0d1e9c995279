"""Keys that only their owner reads, certificates that say who one is and nothing else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hintbound.clusters.embedded.pki import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


def _load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_client_certificate_names_user_and_groups(authority: Authority) -> None:
    cert = _load(authority.client("system:kube-scheduler", "one", "two").cert)

    assert [a.value for a in cert.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [
        "system:kube-scheduler"
    ]
    assert [a.value for a in cert.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["one", "two"]


def test_client_certificate_serves_nobody(authority: Authority) -> None:
    cert = _load(authority.client("somebody").cert)
    usage = cert.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value

    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert not cert.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_server_certificate_is_for_loopback_only(authority: Authority) -> None:
    names = _load(authority.server("server").cert).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )

    addresses = [str(ip) for ip in names.value.get_values_for_type(x509.IPAddress)]
    assert addresses == ["127.0.0.1", "::1", "10.0.0.1"]
    assert "localhost" in names.value.get_values_for_type(x509.DNSName)


def test_authority_has_signed_them_all(authority: Authority) -> None:
    ca = _load(authority.cert)

    for pair in (authority.client("a"), authority.server("b"), authority.signing_key("c")):
        _load(pair.cert).verify_directly_issued_by(ca)


def test_key_belongs_to_its_certificate(authority: Authority) -> None:
    pair = authority.client("somebody")
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)

    assert key.public_key() == _load(pair.cert).public_key()


def test_only_the_owner_reads_the_keys(authority: Authority) -> None:
    pair = authority.client("somebody")

    assert stat.S_IMODE(pair.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(pair.key.parent.stat().st_mode) == 0o700


def test_two_authorities_do_not_trust_each_other(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")

    with pytest.raises(InvalidSignature):
        _load(authority.client("a").cert).verify_directly_issued_by(_load(other.cert))
