"""The headers that every answer carries, whoever gives it."""

from typing import Final

HEADERS: Final[tuple[tuple[str, str], ...]] = (
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'",
    ),
    ("Cache-Control", "no-store"),
)
"""Sent with everything; only files that never change may be cached instead."""

STRICT_TRANSPORT: Final = ("Strict-Transport-Security", "max-age=31536000")
"""Only over our own TLS with an operator's certificate; a browser remembers it for a year."""
