"""Whom a request comes from, and whether that network is trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.networks import FORWARDING, TrustPolicy, judge

NOTHING = TrustPolicy()
HOME = TrustPolicy(cidrs=("192.168.1.0/24", "fd00::/8"))
PROXIED = TrustPolicy(cidrs=("192.168.1.0/24",), proxies=("10.0.0.2", "127.0.0.1"))


def standing(policy, peer, *headers, host="localhost:3876", version="1.1", tls=False):
    given = [*headers, ("host", host)] if host is not None else list(headers)
    return judge(policy, peer=peer, headers=given, http_version=version, tls=tls)


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.0.9", "::1", "::ffff:127.0.0.1", "::1%lo"])
@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:3876", "[::1]:3876", "192.168.1.5"]
)
def test_loopback_is_trusted_under_our_own_names(peer, host):
    assert standing(NOTHING, peer, host=host).trusted


@pytest.mark.seed("S-088")
@pytest.mark.parametrize("peer", ["192.168.1.9", "fd12::1", "::ffff:192.168.1.9"])
def test_a_declared_network_is_trusted(peer):
    assert standing(HOME, peer).trusted
    assert standing(HOME, peer).may_scrape


@pytest.mark.seed("S-088")
@pytest.mark.parametrize(
    ("cidr", "peer", "trusted"),
    [
        ("::ffff:192.168.1.0/120", "192.168.1.9", True),
        ("::ffff:192.168.1.0/120", "::ffff:192.168.1.9", True),
        ("::ffff:192.168.1.9", "192.168.1.9", True),
        ("::ffff:192.168.1.9", "192.168.1.8", False),
        ("::ffff:192.168.1.0/120", "192.168.2.9", False),
        ("::ffff:0:0/96", "8.8.8.8", True),
        ("::/0", "fd12::1", True),
        ("::/0", "8.8.8.8", False),
    ],
)
def test_a_network_of_ipv4_may_be_written_as_ipv6(cidr, peer, trusted):
    assert standing(TrustPolicy(cidrs=(cidr,)), peer).trusted is trusted
    assert standing(TrustPolicy(proxies=(cidr,)), peer).via_proxy is trusted


@pytest.mark.seed("S-088")
@pytest.mark.parametrize("peer", ["192.168.2.9", "8.8.8.8", "", "testclient", "/run/some.sock"])
def test_everybody_else_is_not(peer):
    assert not standing(HOME, peer).trusted
    assert not standing(HOME, peer).may_scrape


@pytest.mark.spec("H-31")
@pytest.mark.parametrize("name", sorted(FORWARDING))
def test_a_forwarding_header_takes_trust_away_from_pages_but_not_loopback_from_metrics(name):
    judged = standing(NOTHING, "127.0.0.1", (name, "127.0.0.1"))
    assert not judged.trusted
    assert judged.may_scrape
    assert judged.undeclared_proxy
    assert not standing(HOME, "192.168.1.9", (name, "192.168.1.9")).trusted
    assert not standing(HOME, "192.168.1.9", (name, "192.168.1.9")).may_scrape


@pytest.mark.spec("H-31")
@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "", None, "127.0.0.1.evil.example", "localhost:1:2"],
)
def test_a_name_that_could_be_rebound_to_us_is_not_trusted(host):
    assert not standing(NOTHING, "127.0.0.1", host=host).trusted
    assert standing(NOTHING, "127.0.0.1", host=host).may_scrape


def test_two_host_headers_are_no_name_of_ours():
    assert not standing(NOTHING, "127.0.0.1", ("host", "localhost")).trusted


@pytest.mark.spec("H-31")
def test_an_allowed_host_is_a_name_of_ours():
    policy = TrustPolicy(allowed_hosts=("Music.example",))
    assert standing(policy, "127.0.0.1", host="music.EXAMPLE:443").trusted
    assert not standing(policy, "127.0.0.1", host="other.example").trusted


def test_a_single_label_name_may_scrape_from_a_trusted_network_only():
    assert standing(HOME, "192.168.1.9", host="lyrsvc:50705").may_scrape
    assert not standing(HOME, "192.168.1.9", host="lyrsvc:50705").trusted
    assert not standing(HOME, "192.168.7.9", host="lyrsvc:50705").may_scrape


def test_http_1_0_is_never_trusted_for_pages():
    assert not standing(NOTHING, "127.0.0.1", version="1.0").trusted
    assert standing(NOTHING, "127.0.0.1", version="1.0").may_scrape


@pytest.mark.spec("H-30")
@pytest.mark.parametrize(
    ("lines", "client"),
    [
        (["192.168.1.9"], "192.168.1.9"),
        (["192.168.1.9:5123"], "192.168.1.9"),
        (["[2001:db8::7]"], "2001:db8::7"),
        (["[2001:db8::7]:443"], "2001:db8::7"),
        (["2001:db8::7"], "2001:db8::7"),
        (["::ffff:192.168.1.9"], "192.168.1.9"),
        (["127.0.0.1, 203.0.113.5"], "203.0.113.5"),
        (["1.2.3.4", "203.0.113.5"], "203.0.113.5"),
        (["203.0.113.5, 10.0.0.2"], "203.0.113.5"),
        (["203.0.113.5", "10.0.0.2, 127.0.0.1"], "203.0.113.5"),
        (["1.2.3.4, unknown"], ""),
        (["1.2.3.4, "], ""),
        (["[1.2.3.4]"], ""),
        (["1.2.3.4:99999"], ""),
        (["1.2.3.4:²"], ""),
        (["10.0.0.2"], ""),
        ([], ""),
    ],
)
def test_the_client_behind_a_proxy_is_the_rightmost_address_that_is_not_ours(lines, client):
    judged = standing(PROXIED, "10.0.0.2", *(("x-forwarded-for", line) for line in lines))
    assert judged.client == client
    assert judged.via_proxy
    assert judged.trusted is (client == "192.168.1.9")


@pytest.mark.seed("S-074")
@pytest.mark.spec("H-30")
@pytest.mark.parametrize("forged", ["127.0.0.1", "::1", "127.0.0.1:80", "[::1]"])
def test_loopback_read_from_a_header_is_never_trusted(forged):
    policy = TrustPolicy(cidrs=("0.0.0.0/0", "::/0"), proxies=("10.0.0.2",))
    assert not standing(policy, "10.0.0.2", ("x-forwarded-for", forged)).trusted


def test_metrics_through_a_declared_local_proxy_are_for_this_machine_only():
    assert standing(PROXIED, "127.0.0.1").may_scrape
    assert standing(PROXIED, "127.0.0.1", ("x-forwarded-for", "127.0.0.1")).may_scrape
    assert not standing(PROXIED, "127.0.0.1", ("x-forwarded-for", "203.0.113.5")).may_scrape
    assert not standing(
        PROXIED, "127.0.0.1", ("x-forwarded-for", "127.0.0.1, 203.0.113.5")
    ).may_scrape
    assert not standing(PROXIED, "127.0.0.1", ("x-forwarded-for", "unknown")).may_scrape


@pytest.mark.parametrize("hops", ["10.0.0.2", "127.0.0.1, 10.0.0.2", "10.0.0.2, 127.0.0.1"])
def test_another_declared_proxy_is_not_this_machine_and_reads_no_metrics(hops):
    assert not standing(PROXIED, "127.0.0.1", ("x-forwarded-for", hops)).may_scrape
    assert not standing(PROXIED, "10.0.0.2").may_scrape


@pytest.mark.seed("S-107")
def test_tls_is_believed_of_the_listener_and_of_a_declared_proxy_only():
    https = ("x-forwarded-proto", "HTTPS, http")
    assert standing(NOTHING, "8.8.8.8", tls=True).secure
    assert standing(PROXIED, "10.0.0.2", https).secure
    assert not standing(PROXIED, "10.0.0.2", ("x-forwarded-proto", "http, https")).secure
    assert not standing(NOTHING, "8.8.8.8", https).secure
    assert not standing(NOTHING, "127.0.0.1", https).secure
    assert not standing(HOME, "192.168.1.9", https).secure
    assert not standing(NOTHING, "junk", https).secure


headers = st.lists(
    st.tuples(
        st.sampled_from(sorted(FORWARDING)),
        st.sampled_from(
            [
                "127.0.0.1",
                "192.168.1.9",
                "10.0.0.2",
                "::1",
                "unknown",
                "",
                "x, 192.168.1.9",
                "for=127.0.0.1",
            ]
        ),
    ),
    max_size=4,
)


@given(
    peer=st.sampled_from(["8.8.8.8", "127.0.0.1", "192.168.1.9", "::1", "junk"]),
    policy=st.sampled_from(
        [NOTHING, HOME, TrustPolicy(cidrs=("192.168.1.0/24",), proxies=("10.0.0.2",))]
    ),
    forged=headers,
)
def test_what_a_stranger_writes_never_gives_trust(peer, policy, forged):
    plain, judged = standing(policy, peer), standing(policy, peer, *forged)
    assert not judged.trusted or plain.trusted
    assert not judged.may_scrape or plain.may_scrape
    assert judged.client == plain.client
