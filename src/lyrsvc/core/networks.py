"""Whom a request comes from, and whether that network is trusted.

Headers that a stranger can write may only take trust away. Who the client is, is read
from ``X-Forwarded-For`` only when the peer is a declared proxy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Headers = Sequence[tuple[str, str]]
"""Names in lower case, in the order they came."""

FORWARDING: Final = frozenset(
    {
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-real-ip",
        "via",
        "cf-connecting-ip",
        "true-client-ip",
    }
)
"""Headers that show that somebody passed the request on."""
_MAPPED_BITS: Final = 96
"""Length of the prefix of IPv4 addresses that are written as IPv6."""


@dataclass(frozen=True, kw_only=True)
class TrustPolicy:
    """What the operator declared; each network as text, a bare address means itself."""

    cidrs: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()

    @cached_property
    def trusted(self) -> tuple[Network, ...]:
        """The networks that are trusted without a password."""
        return tuple(map(_network, self.cidrs))

    @cached_property
    def declared(self) -> tuple[Network, ...]:
        """The proxies whose word is taken."""
        return tuple(map(_network, self.proxies))

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The names a browser may call us by."""
        return frozenset(_bare_host(host) for host in self.allowed_hosts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What is known about the sender of one request.

    ``client`` is empty when a proxy does not say. ``trusted`` opens pages, ``may_scrape``
    the metrics. ``undeclared_proxy``: trust was lost only because somebody on this machine
    passes requests on and is not declared. ``foreign_host``: it was lost only because of the
    name that was asked for.
    """

    client: str
    via_proxy: bool
    trusted: bool
    may_scrape: bool
    secure: bool
    host: str
    undeclared_proxy: bool = False
    foreign_host: bool = False


def judge(
    policy: TrustPolicy, *, peer: str, headers: Headers, http_version: str, tls: bool
) -> Standing:
    """Judge one request by its peer and its headers."""
    address = _parse(peer)
    hosts = _values(headers, "host")
    host = hosts[0] if len(hosts) == 1 else ""
    by_proxy = address is not None and _within(address, policy.declared)
    passed_on = any(name in FORWARDING for name, _ in headers)
    loopback = address is not None and address.is_loopback
    if by_proxy:
        client = _client_behind(policy, _values(headers, "x-forwarded-for"))
        known = client is not None and _within(client, policy.trusted)
    else:
        client = address
        known = (
            not passed_on and client is not None and (loopback or _within(client, policy.trusted))
        )
    names = _bare_host(host)
    is_own = _is_own_name(policy, names)
    speaks_1_1 = http_version != "1.0"
    return Standing(
        client=str(client) if client is not None else "",
        via_proxy=by_proxy,
        trusted=known and speaks_1_1 and is_own,
        may_scrape=_may_scrape(headers, loopback=loopback, by_proxy=by_proxy)
        or (known and (is_own or _is_single_label(names))),
        secure=tls or (by_proxy and _forwarded_proto(headers) == "https"),
        host=host,
        undeclared_proxy=loopback and passed_on and not policy.proxies,
        foreign_host=known and speaks_1_1 and not is_own,
    )


def _may_scrape(headers: Headers, *, loopback: bool, by_proxy: bool) -> bool:
    """Let this machine read the metrics, unless its declared proxy speaks for another one."""
    if not loopback:
        return False
    if not by_proxy:
        return True
    named = [_parse_hop(hop) for hop in _hops(_values(headers, "x-forwarded-for"))]
    return all(one is not None and one.is_loopback for one in named)


def _client_behind(policy: TrustPolicy, lines: Iterable[str]) -> Address | None:
    """Walk from the right past our own proxies; the first other address is the client."""
    for hop in reversed(_hops(lines)):
        address = _parse_hop(hop)
        if address is None:
            return None
        if not _within(address, policy.declared):
            # Loopback in a header can be anybody's word, so it is nobody.
            return None if address.is_loopback else address
    return None


def _hops(lines: Iterable[str]) -> list[str]:
    return [hop.strip() for line in lines for hop in line.split(",")]


def _parse_hop(hop: str) -> Address | None:
    """Read ``ip``, ``ip:port``, ``[v6]`` or ``[v6]:port``."""
    if hop.startswith("["):
        inside, bracket, port = hop[1:].partition("]")
        if not bracket or (port and not _is_port(port)):
            return None
        found = _parse(inside)
        return found if found is not None and ":" in inside else None
    if hop.count(":") == 1:
        hop, _, port = hop.partition(":")
        if not _is_port(f":{port}"):
            return None
    return _parse(hop)


def _is_port(text: str) -> bool:
    digits = text[1:]
    return (
        text.startswith(":")
        and digits.isascii()
        and digits.isdigit()
        and len(digits) <= 5
        and int(digits) <= 65535
    )


@lru_cache(maxsize=512)
def _parse(text: str) -> Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _network(text: str) -> Network:
    """Read a network; one of IPv4 addresses written as IPv6 is one of IPv4, as peers are."""
    network = ip_network(text, strict=False)
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen < _MAPPED_BITS:
        return network
    return IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _is_own_name(policy: TrustPolicy, host: str) -> bool:
    """Tell whether a name cannot have been rebound to us by a stranger."""
    return host == "localhost" or host in policy.hosts or _parse(host) is not None


def _is_single_label(host: str) -> bool:
    return bool(host) and "." not in host and ":" not in host


def _bare_host(host: str) -> str:
    """Drop port and brackets; case means nothing."""
    host = host.strip().lower()
    if host.startswith("["):
        inside, bracket, port = host[1:].partition("]")
        return inside if bracket and (not port or _is_port(port)) else ""
    name, colon, port = host.partition(":")
    if colon and ":" in port:
        return host
    return name if not colon or _is_port(f":{port}") else ""


def _forwarded_proto(headers: Headers) -> str:
    lines = _values(headers, "x-forwarded-proto")
    return lines[0].partition(",")[0].strip().lower() if lines else ""


def _values(headers: Headers, name: str) -> list[str]:
    return [value for key, value in headers if key == name]
