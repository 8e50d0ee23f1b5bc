"""A filter of system calls for the sandbox: no command makes a file that runs with the rights of its owner.

A file with the set-user-ID bit belongs to the worker's user. If that is root, every user of the host who can reach the
workspace becomes root by running it, although the command itself never had such rights. Capabilities do not prevent
this: an owner may set the bit. The filter refuses every call that would set it, and the two interfaces whose arguments
a filter cannot see (`openat2`, `io_uring`), for which programs have a fallback.
"""

from __future__ import annotations

import errno
import os
import platform
import stat
import struct
from functools import lru_cache
from typing import NamedTuple

#: Instructions of the filter: load a word, compare, test bits, return.
_LOAD, _EQUAL, _TEST, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
#: Where a filter finds the number of the call, the architecture and the lower half of an argument.
_NUMBER, _ARCHITECTURE, _ARGUMENTS, _ARGUMENT_SIZE = 0, 4, 16, 8
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
#: Without one of these flags, `open` ignores its mode, which may then be anything.
_CREATES = 0o100 | 0o20000000
#: Numbers from here on are calls of another interface (x32), which has other numbers for the same calls.
_OTHER_INTERFACE = 0x40000000


class _Call(NamedTuple):
    """A system call that sets the mode of a file."""

    number: int
    #: Which argument is the mode.
    mode: int
    #: Which argument has the flags that decide whether the mode is used; None if it always is.
    flags: int | None = None


class _Interface(NamedTuple):
    """The system calls of an architecture."""

    #: The value by which the kernel names it.
    value: int
    calls: tuple[_Call, ...]


#: `fchmodat2` has the same number everywhere, and so have `openat2` and `io_uring_setup`.
_EVERYWHERE = (_Call(452, 2),)
_HIDDEN_ARGUMENTS = (437, 425)


def _old(creat: int, chmod: int, fchmod: int, mknod: int) -> tuple[_Call, ...]:
    return _Call(creat, 1), _Call(chmod, 1), _Call(fchmod, 1), _Call(mknod, 1)


def _relative(openat: int, mknodat: int, fchmodat: int) -> tuple[_Call, ...]:
    return _Call(openat, 3, 2), _Call(mknodat, 2), _Call(fchmodat, 2), *_EVERYWHERE


_X86_64 = _Interface(0xC000003E, (_Call(2, 2, 1), *_old(85, 90, 91, 133), *_relative(257, 259, 268)))
_I386 = _Interface(0x40000003, (_Call(5, 2, 1), *_old(8, 15, 94, 14), *_relative(295, 297, 306)))
_AARCH64 = _Interface(0xC00000B7, (_Call(52, 1), *_relative(56, 33, 53)))
_ARM = _Interface(0x40000028, (_Call(5, 2, 1), *_old(8, 15, 94, 14), *_relative(322, 324, 333)))
_RISCV64 = _Interface(0xC00000F3, _AARCH64.calls)
#: Machine -> the interfaces that its kernel has.
_INTERFACES = {
    "x86_64": (_X86_64, _I386),
    "aarch64": (_AARCH64, _ARM),
    "riscv64": (_RISCV64,),
}


def filter_program(machine: str, *, with_group: bool) -> bytes:
    """Return the filter for a machine; empty if its system calls are not known here.

    `with_group` also refuses the set-group-ID bit, which folders of a shared workspace need.
    """
    bits = stat.S_ISUID | (stat.S_ISGID if with_group else 0)
    program: list[bytes] = []
    for interface in _INTERFACES.get(machine, ()):
        body = _body(interface, bits)
        # A jump of a comparison is at most 255 instructions.
        program += [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, interface.value, 0, len(body)), *body]
    return b"".join([*program, _refuse(errno.ENOSYS)]) if program else b""


def _body(interface: _Interface, bits: int) -> list[bytes]:
    """Return the instructions for the calls of one interface. Each part allows, refuses, or goes on to the next."""
    body = [_step(_LOAD, _NUMBER)]
    if interface is _X86_64:
        body += [_step(_AT_LEAST, _OTHER_INTERFACE, 0, 1), _refuse(errno.ENOSYS)]
    for number in _HIDDEN_ARGUMENTS:
        body += [_step(_EQUAL, number, 0, 1), _refuse(errno.ENOSYS)]
    for call in interface.calls:
        part = [_argument(call.mode), _step(_TEST, bits, 0, 1), _refuse(errno.EPERM), _step(_RETURN, _ALLOW)]
        if call.flags is not None:
            part = [_argument(call.flags), _step(_TEST, _CREATES, 1, 0), _step(_RETURN, _ALLOW), *part]
        body += [_step(_EQUAL, call.number, 0, len(part)), *part]
    return [*body, _step(_RETURN, _ALLOW)]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _argument(number: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS + _ARGUMENT_SIZE * number)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERROR | number)


@lru_cache(maxsize=1)
def _file_of_filter() -> int:
    """Return the descriptor of a file in memory with the filter of this host; -1 without a filter."""
    program = filter_program(platform.machine(), with_group=os.geteuid() == 0)
    if not program or not hasattr(os, "memfd_create"):
        return -1
    descriptor = os.memfd_create("remit-filter")
    os.write(descriptor, program)
    return descriptor


def filter_words() -> tuple[list[str], list[str]]:
    """Return the words before `bwrap` that open the filter, and its options that use it; empty without a filter."""
    descriptor = _file_of_filter()
    if descriptor < 0:
        return [], []
    return ["/bin/sh", "-c", 'exec "$@" 9<"$0"', f"/proc/{os.getpid()}/fd/{descriptor}"], ["--seccomp", "9"]
