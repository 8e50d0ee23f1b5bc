"""Hosts with separate networks on one machine: network namespaces, and a switch in this process between them.

Each host is a namespace with one tunnel device. The switch forwards packets between the devices, so a test can cut a
host off, slow its link down and see every byte, without modules of the kernel for that. It needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import ipaddress
import itertools
import os
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

_NAMESPACES = Path("/run/netns")
_TUN = Path("/dev/net/tun")
_NEW_NETWORK = 0x40000000
_SET_INTERFACE = 0x400454CA
#: A device for packets, without a header before each.
_PACKETS = 0x0001 | 0x1000
_DEVICE = "link0"
_MAX_PACKET = 65_536
#: Packets of a slow link that may wait; a longer queue drops packets as a router does.
_MAX_WAITING = 1_000
_libc = ctypes.CDLL(None, use_errno=True)


def why_not() -> str:
    """Return why hosts cannot be made on this machine; empty if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None or not _TUN.exists():
        return "network namespaces need iproute2 and /dev/net/tun"
    name = f"remit-{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if made.returncode:
        return "this machine does not allow network namespaces"
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    return ""


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Open the sockets of this thread in a namespace, until the block ends."""
    with Path("/proc/thread-self/ns/net").open("rb") as own, (_NAMESPACES / namespace).open("rb") as other:
        _enter(other.fileno())
        try:
            yield
        finally:
            _enter(own.fileno())


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "cannot enter the network namespace")


@dataclass(slots=True)
class Host:
    """A host on the network, and the state of its link."""

    name: str
    address: str
    namespace: str
    device: int
    #: Seconds that each packet takes longer, in each direction.
    delay: float = 0.0
    #: Bytes per second, in each direction; 0: no limit.
    rate: float = 0.0
    #: When the link is free again, for each direction.
    busy: dict[str, float] = field(default_factory=dict)

    def command(self, *words: str) -> list[str]:
        """Return a command line that runs on this host."""
        return ["ip", "netns", "exec", self.namespace, *words]

    def passes(self, direction: str, size: int, now: float) -> float:
        """Return when a packet has passed the link."""
        start = max(now, self.busy.get(direction, 0.0))
        if self.rate:
            start += size / self.rate
            self.busy[direction] = start
        return start + self.delay


class Network:
    """Hosts and the switch between them."""

    def __init__(self, recorded: Sequence[str] = ()) -> None:
        self._hosts: dict[bytes, Host] = {}
        self._recorded = frozenset(recorded)
        self._cut: frozenset[frozenset[str]] = frozenset()
        self._capture = bytearray()
        self._numbers = itertools.count(1)
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._wake, self._woken = os.pipe()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="network switch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closing = True
        os.write(self._woken, b".")
        self._thread.join()
        for host in self._hosts.values():
            os.close(host.device)
            subprocess.run(["ip", "netns", "delete", host.namespace], capture_output=True, check=False)
        os.close(self._wake)
        os.close(self._woken)

    def host(self, name: str) -> Host:
        """Make a host."""
        address = ipaddress.IPv4Address("10.77.0.0") + next(self._numbers)
        namespace = f"remit-{os.getpid()}-{name}"
        subprocess.run(["ip", "netns", "add", namespace], check=True, capture_output=True)
        with inside(namespace):
            device = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, _SET_INTERFACE, struct.pack("16sH22x", _DEVICE.encode(), _PACKETS))
        for words in (
            ("link", "set", "lo", "up"),
            ("addr", "add", f"{address}/24", "dev", _DEVICE),
            ("link", "set", _DEVICE, "up"),
        ):
            subprocess.run(["ip", "-n", namespace, *words], check=True, capture_output=True)
        host = Host(name, str(address), namespace, device)
        self._hosts = {**self._hosts, address.packed: host}
        os.write(self._woken, b".")
        return host

    def cut(self, host: Host, *others: Host) -> None:
        """Drop every packet between a host and others, in both directions, without telling anybody."""
        self._cut |= {frozenset((host.name, other.name)) for other in others}

    def heal(self) -> None:
        """Deliver all packets again."""
        self._cut = frozenset()

    @property
    def captured(self) -> bytes:
        """Every packet from and to the recorded hosts, also the lost ones."""
        return bytes(self._capture)

    def _run(self) -> None:
        while not self._is_closing:
            timeout = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
            ready = select.select([self._wake, *(host.device for host in self._hosts.values())], [], [], timeout)[0]
            if self._wake in ready:
                os.read(self._wake, 4096)
            for host in list(self._hosts.values()):
                if host.device in ready:
                    self._read(host)
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, device, packet = heapq.heappop(self._waiting)
                _write(device, packet)

    def _read(self, source: Host) -> None:
        """Read the packets of a host, and send or queue them."""
        for _ in range(64):
            try:
                packet = os.read(source.device, _MAX_PACKET)
            except BlockingIOError:
                return
            target = self._hosts.get(packet[16:20])
            if target is None or packet[0] >> 4 != 4:  # a host announces itself with IPv6
                continue
            if self._recorded & {source.name, target.name}:
                self._capture += packet
            if frozenset((source.name, target.name)) in self._cut or len(self._waiting) >= _MAX_WAITING:
                continue
            now = time.monotonic()
            due = target.passes("in", len(packet), source.passes("out", len(packet), now))
            if due <= now:
                _write(target.device, packet)
            else:
                heapq.heappush(self._waiting, (due, next(self._order), target.device, packet))


def _write(device: int, packet: bytes) -> None:
    with contextlib.suppress(OSError):  # a device that is full or gone loses the packet, as a link does
        os.write(device, packet)
