"""The filter of system calls in the sandbox, run instruction by instruction as the kernel does."""

from __future__ import annotations

import errno
import struct

import pytest

from remit.dispatch.tools.sandbox import filter_program

X86_64, I386, AARCH64, ARM, RISCV64 = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028, 0xC00000F3
SET_USER, SET_GROUP, PLAIN = 0o4755, 0o2755, 0o1755
CREATE, TEMPORARY = 0o101, 0o20200002
#: Machine, its interface, number of the call, arguments before the mode, whether flags before the mode decide.
MODES = [
    *[
        ("x86_64", X86_64, number, before)
        for number, before in ((85, 1), (90, 1), (91, 1), (133, 1), (259, 2), (268, 2))
    ],
    *[("x86_64", I386, number, before) for number, before in ((8, 1), (15, 1), (94, 1), (14, 1), (297, 2), (306, 2))],
    *[("aarch64", AARCH64, number, before) for number, before in ((52, 1), (53, 2), (33, 2), (452, 2))],
    *[("aarch64", ARM, number, before) for number, before in ((8, 1), (15, 1), (94, 1), (14, 1), (324, 2), (333, 2))],
    *[("riscv64", RISCV64, number, before) for number, before in ((52, 1), (53, 2), (33, 2), (452, 2))],
    ("x86_64", X86_64, 452, 2),
]
OPENS = [
    *[("x86_64", X86_64, 2, 1), ("x86_64", X86_64, 257, 2), ("x86_64", I386, 5, 1), ("x86_64", I386, 295, 2)],
    *[("aarch64", AARCH64, 56, 2), ("aarch64", ARM, 5, 1), ("aarch64", ARM, 322, 2), ("riscv64", RISCV64, 56, 2)],
]


def answer(program: bytes, interface: int, number: int, *arguments: int) -> int:
    """Return the error that the filter gives a call; 0 if it is allowed."""
    data = struct.pack("<iIQ6Q", number, interface, 0, *[*arguments, *[0] * (6 - len(arguments))])
    steps = list(struct.iter_unpack("=HBBI", program))
    at, loaded = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x20:
            (loaded,) = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return 0 if value == 0x7FFF0000 else value & 0xFFFF
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += if_true if holds else if_false


@pytest.mark.parametrize(("machine", "interface", "number", "before"), MODES)
def test_a_mode_with_the_bit_is_refused_and_any_other_is_not(
    machine: str, interface: int, number: int, before: int
) -> None:
    program = filter_program(machine, with_group=True)
    found = [answer(program, interface, number, *[7] * before, mode) for mode in (SET_USER, SET_GROUP, PLAIN)]
    assert found == [errno.EPERM, errno.EPERM, 0]
    shared = filter_program(machine, with_group=False)
    assert [answer(shared, interface, number, *[7] * before, mode) for mode in (SET_USER, SET_GROUP)] == [1, 0]


@pytest.mark.parametrize(("machine", "interface", "number", "flags"), OPENS)
def test_the_mode_of_an_open_counts_only_if_it_creates_a_file(
    machine: str, interface: int, number: int, flags: int
) -> None:
    program = filter_program(machine, with_group=True)
    before = [7] * flags
    assert answer(program, interface, number, *before, CREATE, SET_USER) == errno.EPERM
    assert answer(program, interface, number, *before, TEMPORARY, SET_USER) == errno.EPERM
    assert answer(program, interface, number, *before, CREATE, PLAIN) == 0
    assert answer(program, interface, number, *before, 0, SET_USER) == 0, "the mode is not used"


def test_calls_whose_arguments_are_hidden_do_not_exist() -> None:
    for machine, interface in (("x86_64", X86_64), ("x86_64", I386), ("aarch64", AARCH64), ("aarch64", ARM)):
        program = filter_program(machine, with_group=True)
        assert answer(program, interface, 437) == errno.ENOSYS
        assert answer(program, interface, 425) == errno.ENOSYS
        assert answer(program, interface, 1) == 0


def test_other_interfaces_of_the_kernel_do_not_exist() -> None:
    program = filter_program("x86_64", with_group=True)
    assert answer(program, X86_64, 0x40000000 + 90, 7, PLAIN) == errno.ENOSYS
    assert answer(program, AARCH64, 52, 7, PLAIN) == errno.ENOSYS


def test_an_upper_half_of_an_argument_hides_nothing() -> None:
    assert answer(filter_program("x86_64", with_group=True), X86_64, 90, 7, 1 << 40 | SET_USER) == errno.EPERM


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert filter_program("s390x", with_group=True) == b""
