"""A certificate of our own, for those who have none."""

import ipaddress
import os
import secrets
import ssl
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc import brand
from lyrsvc.core.errors import ConfigError
from lyrsvc.core.host_names import is_ipv4, is_ipv6
from lyrsvc.durability import sync_directory

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

VALID_FOR: Final = timedelta(days=365)
RENEWED_BEFORE: Final = timedelta(days=30)
OWN_NAMES: Final = (brand.PROGRAM, "localhost", "127.0.0.1", "::1")
DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600


class Pair(NamedTuple):
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class SelfSigned:
    """Makes the pair in its directory, and makes it anew when its time comes."""

    def __init__(self, directory: Path, hosts: Iterable[str]) -> None:
        self._directory = directory
        self._names = _without_repetition((*OWN_NAMES, *hosts))

    @property
    def pair(self) -> Pair:
        """Where the pair is kept."""
        return Pair(self._directory / "cert.pem", self._directory / "key.pem")

    def provide(self, *, now: datetime) -> Pair:
        """Give a pair that names every host and is valid for a while, making it if need be."""
        if not self._is_good(now):
            self._make(now)
        return self.pair

    def _is_good(self, now: datetime) -> bool:
        from cryptography import x509

        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*self.pair, password=_nothing)
            found = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (OSError, ValueError, x509.ExtensionNotFound):
            return False
        begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
        in_time = begins <= now < ends - RENEWED_BEFORE
        return in_time and set(_general_names(self._names)) <= set(names)

    def _make(self, now: datetime) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(key, self._names, now)
        key_text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            self._directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            self._directory.chmod(DIRECTORY_MODE)
            # Killed between the two, the pair does not match and is made anew.
            _replace(self.pair.key, key_text)
            _replace(self.pair.certificate, certificate.public_bytes(Encoding.PEM))
            sync_directory(self._directory)
        except OSError as error:
            raise ConfigError(
                [
                    f"server.tls.self_signed: cannot write to {self._directory}: "
                    f"{(error.strerror or 'unknown error').lower()}; make it writable"
                ]
            ) from error


def _signed(
    key: "EllipticCurvePrivateKey", names: Iterable[str], now: datetime
) -> "x509.Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, brand.PROGRAM)])
    key_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    begins = now.replace(microsecond=0)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + VALID_FOR)
        .add_extension(x509.SubjectAlternativeName(_general_names(names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_signatures_only(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(key_id, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id), critical=False
        )
        .sign(key, hashes.SHA256())
    )


def _signatures_only() -> "x509.KeyUsage":
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_names(names: Iterable[str]) -> "list[x509.GeneralName]":
    from cryptography import x509

    return [
        x509.IPAddress(ipaddress.ip_address(name))
        if is_ipv4(name) or is_ipv6(name)
        else x509.DNSName(name)
        for name in names
    ]


def _without_repetition(hosts: Iterable[str]) -> tuple[str, ...]:
    bare = (host.removeprefix("[").removesuffix("]").removesuffix(".").lower() for host in hosts)
    return tuple(dict.fromkeys(bare))


def _nothing() -> str:
    """Give no pass phrase, instead of asking for one on the terminal."""
    return ""


def _replace(path: Path, data: bytes) -> None:
    temp = path.with_name(f".{brand.PROGRAM}-{secrets.token_hex(4)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(temp, flags, FILE_MODE), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temp.replace(path)
    except BaseException:
        with suppress(OSError):
            temp.unlink()
        raise
