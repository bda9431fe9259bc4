"""The certificate: the operator's or our own, and what happens when it changes."""

import logging
import os
import shutil
import ssl
import stat
from datetime import timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lyrsvc.core.errors import ConfigError
from lyrsvc.security.certificates import Certificates, open_context
from lyrsvc.security.self_signed import Pair, SelfSigned
from pems import make_pair


def parsed(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes())


def test_a_matching_pair_is_taken(tmp_path):
    pair = make_pair(tmp_path)
    open_context(*pair)
    context = open_context(*pair)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def break_certificate(pair):
    pair.certificate.write_text("no certificate\n")


def break_key(pair):
    pair.key.write_text("no key\n")


def remove_certificate(pair):
    pair.certificate.unlink()


def remove_key(pair):
    pair.key.unlink()


def make_pipe(pair):
    pair.key.unlink()
    os.mkfifo(pair.key)


def make_directory(pair):
    pair.key.unlink()
    pair.key.mkdir()


def take_foreign_key(pair):
    shutil.copy(make_pair(pair.key.parent / "other").key, pair.key)


def take_weak_key(pair):
    key = rsa.generate_private_key(65537, 2048)
    pair.key.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )


def damage_certificate(pair):
    first, rest = pair.certificate.read_text().split("\n", 1)
    pair.certificate.write_text(f"{first}\nAAAA{rest[4:]}")


def empty_certificate(pair):
    pair.certificate.write_bytes(b"")


def inflate_key(pair):
    pair.key.write_bytes(b"x" * 2_000_000)


FAULTS = {
    break_certificate: "cert_file: cannot use .*cert.pem: there is no PEM certificate in it",
    break_key: "key_file: cannot use .*key.pem: there is no PEM private key in it",
    remove_certificate: "cert_file: cannot use .*cert.pem: no such file",
    remove_key: "key_file: cannot use .*key.pem: no such file",
    make_pipe: "key_file: cannot use .*key.pem: it is no regular file",
    make_directory: "key_file: cannot use .*key.pem: ",
    take_foreign_key: "cert.pem and .*key.pem do not belong together",
    take_weak_key: "server.tls: .*cert.pem .*key.pem",
    damage_certificate: "cannot load .*cert.pem with ",
    empty_certificate: "there is no PEM certificate in it",
    inflate_key: "it is too large",
}


@pytest.mark.parametrize("damage", FAULTS, ids=lambda damage: damage.__name__)
def test_a_pair_that_cannot_be_used_is_told_in_one_line(tmp_path, clock, damage):
    pair = make_pair(tmp_path)
    damage(pair)
    with pytest.raises(ConfigError, match=FAULTS[damage]) as caught:
        open_context(*pair)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("server.tls")
    with pytest.raises(ConfigError):
        Certificates.of_operator(pair, clock=clock)


def test_a_key_behind_a_pass_phrase_is_refused_and_nobody_is_asked_for_it(tmp_path):
    pair = make_pair(tmp_path, passphrase=b"open sesame")
    with pytest.raises(ConfigError, match="it is encrypted"):
        open_context(*pair)


def test_a_replaced_pair_serves_the_next_handshake(tmp_path, clock):
    certificates = Certificates.of_operator(make_pair(tmp_path), clock=clock)
    before = certificates.context()
    certificates.refresh()
    assert certificates.context() is before
    make_pair(tmp_path)
    certificates.refresh()
    assert certificates.context() is not before


def test_a_broken_replacement_keeps_the_old_pair_and_is_told_once(tmp_path, clock, caplog):
    pair = make_pair(tmp_path)
    certificates = Certificates.of_operator(pair, clock=clock)
    before = certificates.context()
    break_key(pair)
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            certificates.refresh()
    assert certificates.context() is before
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "the old one stays" in caplog.text
    caplog.clear()
    make_pair(tmp_path)
    with caplog.at_level(logging.INFO):
        certificates.refresh()
    assert certificates.context() is not before
    assert caplog.messages == ["certificate loaded"]
    remove_certificate(pair)
    for _ in range(3):
        certificates.refresh()
    assert [record.levelname for record in caplog.records] == ["INFO", "ERROR"]


def test_files_replaced_one_after_the_other_raise_no_alarm(tmp_path, clock, caplog):
    pair = make_pair(tmp_path / "old")
    certificates = Certificates.of_operator(pair, clock=clock)
    fresh = make_pair(tmp_path / "new")
    shutil.copy(fresh.certificate, pair.certificate)
    certificates.refresh()
    shutil.copy(fresh.key, pair.key)
    certificates.refresh()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_link_that_is_pointed_elsewhere_is_a_change(tmp_path, clock):
    make_pair(tmp_path / "1")
    make_pair(tmp_path / "2")
    live = tmp_path / "live"
    live.symlink_to(tmp_path / "1")
    certificates = Certificates.of_operator(Pair(live / "cert.pem", live / "key.pem"), clock=clock)
    before = certificates.context()
    live.unlink()
    live.symlink_to(tmp_path / "2")
    certificates.refresh()
    assert certificates.context() is not before


def test_a_self_signed_pair_is_private_and_names_everybody(tmp_path, clock):
    place = tmp_path / "state" / "tls"
    hosts = ("Music.example", "192.0.2.7", "[2001:db8::1]", "localhost")
    pair = SelfSigned(place, hosts).provide(now=clock.now())
    assert (pair.certificate, pair.key) == (place / "cert.pem", place / "key.pem")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in pair} == {0o600}
    assert sorted(path.name for path in place.iterdir()) == ["cert.pem", "key.pem"]
    found = parsed(pair)
    assert isinstance(found.public_key(), ec.EllipticCurvePublicKey)
    assert found.public_key().curve.name == "secp256r1"
    assert found.not_valid_after_utc - found.not_valid_before_utc == timedelta(days=365)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["lyrsvc", "localhost", "music.example"]
    assert names.get_values_for_type(x509.IPAddress) == [
        ip_address(text) for text in ("127.0.0.1", "::1", "192.0.2.7", "2001:db8::1")
    ]
    open_context(*pair)


def test_a_self_signed_pair_is_kept_until_30_days_before_its_end(tmp_path, clock):
    maker = SelfSigned(tmp_path / "tls", ())
    certificates = Certificates.self_signed(maker, clock=clock)
    first = parsed(maker.pair).serial_number
    clock.moment += timedelta(days=335, seconds=-2)
    assert parsed(maker.provide(now=clock.now())).serial_number == first
    before = certificates.context()
    clock.moment += timedelta(seconds=2)
    certificates.refresh()
    assert parsed(maker.pair).serial_number != first
    assert certificates.context() is not before
    assert parsed(maker.pair).not_valid_after_utc > clock.now() + timedelta(days=364)


def test_other_names_make_another_pair_and_fewer_names_do_not(tmp_path, clock):
    place = tmp_path / "tls"
    first = parsed(SelfSigned(place, ("a.example",)).provide(now=clock.now())).serial_number
    assert parsed(SelfSigned(place, ()).provide(now=clock.now())).serial_number == first
    second = parsed(SelfSigned(place, ("b.example",)).provide(now=clock.now())).serial_number
    assert second != first


@pytest.mark.parametrize("damage", [break_certificate, break_key, remove_key, take_foreign_key])
def test_a_damaged_pair_of_our_own_is_made_anew(tmp_path, clock, damage):
    maker = SelfSigned(tmp_path / "tls", ())
    damage(maker.provide(now=clock.now()))
    open_context(*maker.provide(now=clock.now()))
    assert {stat.S_IMODE(path.stat().st_mode) for path in maker.pair} == {0o600}


def test_a_place_that_cannot_be_written_is_told_with_a_remedy(tmp_path, clock):
    (tmp_path / "tls").write_text("no directory\n")
    with pytest.raises(ConfigError, match=r"self_signed: cannot write to .*make it writable"):
        SelfSigned(tmp_path / "tls", ()).provide(now=clock.now())
