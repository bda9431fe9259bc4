"""The certificate TLS is served with, read anew when its files change."""

import hashlib
import logging
import os
import ssl
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from lyrsvc.core.errors import ConfigError
from lyrsvc.core.ports import Clock
from lyrsvc.security.self_signed import Pair, SelfSigned

LOOKED_AT_EVERY_S: Final = 5.0
LARGEST_FILE_BYTES: Final = 1024 * 1024

_LOG = logging.getLogger("lyrsvc.tls")
_AT_ONCE: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""A pipe under a certificate's name must not make the program wait."""
_SPOKEN: Final = ["http/1.1"]

Provide = Callable[[datetime], Pair]


def open_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Load a pair into a new context: TLS 1.2 or newer, HTTP/1.1."""
    certificate_text = _read("cert_file", certificate)
    key_text = _read("key_file", key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(_SPOKEN)
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:
        raise _unusable(Pair(certificate, key), certificate_text, key_text, error) from error
    return context


class Certificates:
    """Gives the context for the next handshake.

    A replacement takes effect by itself. One that cannot be used leaves the old one in
    force and is told once; it is only believed at the second look, because two files
    are seldom replaced in the same moment.
    """

    def __init__(self, provide: Provide, *, clock: Clock) -> None:
        self._provide = provide
        self._clock = clock
        self._pair = provide(clock.now())
        self._seen = _fingerprint(self._pair)
        self._context = open_context(*self._pair)
        self._doubtful = ""
        self._told = ""

    @classmethod
    def of_operator(cls, pair: Pair, *, clock: Clock) -> "Certificates":
        """Serve with the operator's files."""
        return cls(lambda _now: pair, clock=clock)

    @classmethod
    def self_signed(cls, maker: SelfSigned, *, clock: Clock) -> "Certificates":
        """Serve with a pair of our own making."""
        return cls(lambda now: maker.provide(now=now), clock=clock)

    def context(self) -> ssl.SSLContext:
        """Give the context of the newest usable pair."""
        return self._context

    @property
    def expires_at(self) -> datetime:
        """The end of the certificate that is served."""
        from cryptography.x509 import load_pem_x509_certificate

        return load_pem_x509_certificate(self._pair.certificate.read_bytes()).not_valid_after_utc

    def keep_fresh(self) -> None:
        """Look at the files until the program ends; for a thread of its own."""
        while not self._clock.wait(LOOKED_AT_EVERY_S):
            self.refresh()

    def refresh(self) -> None:
        """Look once: renew what is about to end, load what has changed."""
        try:
            pair = self._provide(self._clock.now())
            found = _fingerprint(pair)
            if found == self._seen:
                self._doubtful = self._told = ""
                return
            self._context = open_context(*pair)
        except ConfigError as error:
            self._doubt(str(error))
            return
        self._seen, self._doubtful, self._told = found, "", ""
        _LOG.info("certificate loaded", extra={"file": str(pair.certificate)})

    def _doubt(self, reason: str) -> None:
        if reason == self._doubtful and reason != self._told:
            self._told = reason
            _LOG.error("the new certificate cannot be used, the old one stays: %s", reason)
        self._doubtful = reason


def _fingerprint(pair: Pair) -> str:
    texts = (_read("cert_file", pair.certificate), _read("key_file", pair.key))
    return "".join(hashlib.sha256(text).hexdigest() for text in texts)


def _read(name: str, path: Path) -> bytes:
    try:
        handle = os.open(path, _AT_ONCE)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise _fault(name, path, "it is no regular file")
            text = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise _fault(name, path, (error.strerror or "unknown error").lower()) from error
    if len(text) > LARGEST_FILE_BYTES:
        raise _fault(name, path, "it is too large")
    return text


def _unusable(pair: Pair, certificate: bytes, key: bytes, error: Exception) -> ConfigError:
    """Say which of the two files is at fault, as far as it can be told."""
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        return _fault("cert_file", pair.certificate, "there is no PEM certificate in it")
    if b"PRIVATE KEY-----" not in key:
        return _fault("key_file", pair.key, "there is no PEM private key in it")
    if b"ENCRYPTED" in key:
        return _fault("key_file", pair.key, "it is encrypted; store it without a pass phrase")
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return ConfigError(
            [f"server.tls: {pair.certificate} and {pair.key} do not belong together"]
        )
    reason = (getattr(error, "reason", "") or "damaged").lower().replace("_", " ")
    return ConfigError([f"server.tls: cannot load {pair.certificate} with {pair.key}: {reason}"])


def _fault(name: str, path: Path, why: str) -> ConfigError:
    return ConfigError([f"server.tls.{name}: cannot use {path}: {why}"])
