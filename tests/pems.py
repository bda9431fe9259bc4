"""Certificates and keys made on the spot."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from lyrsvc.security.self_signed import Pair


def make_pair(directory: Path, name: str = "localhost", *, passphrase: bytes = b"") -> Pair:
    """Write the operator's ``cert.pem`` and ``key.pem``, valid for ten days."""
    directory.mkdir(parents=True, exist_ok=True)
    pair = Pair(directory / "cert.pem", directory / "key.pem")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=10))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    secrecy = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    pair.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secrecy))
    pair.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    return pair


def common_name(der: bytes) -> str:
    """Give the name in a certificate as it came over the wire."""
    found = x509.load_der_x509_certificate(der)
    return str(found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
