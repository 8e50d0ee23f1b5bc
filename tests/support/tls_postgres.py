"""PostgreSQL servers on hosts of a test network: with TLS and passwords, as a deployment has them, and a standby.

The embedded server has no TLS, so this one is Debian's package `postgresql`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from support.network import Host

OWNER = "fleet_owner"
DATABASE = "fleet"
PORT = 5432
_REPLICATION = "replication_password_1b7e"
_ACCOUNT = "postgres"
_SETTINGS = """
ssl = on
ssl_cert_file = 'server.crt'
ssl_key_file = 'server.key'
ssl_min_protocol_version = 'TLSv1.2'
password_encryption = 'scram-sha-256'
listen_addresses = '*'
port = 5432
max_connections = 100
wal_level = replica
hot_standby = on
unix_socket_directories = '{folder}'
"""
_ACCESS = """
local all all trust
hostssl all all 10.77.0.0/24 scram-sha-256
hostssl replication replication 10.77.0.0/24 scram-sha-256
"""


def programs() -> Path | None:
    """Return the folder of the server's programs, or None if the package is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return found[-1].parent if found else None


def why_not() -> str:
    """Return why a server cannot run here; empty if it can."""
    if programs() is None or shutil.which("openssl") is None:
        return "this needs Debian's packages postgresql and openssl"
    return ""


def certificate(folder: Path, *hosts: Host) -> Path:
    """Write a key and a certificate for the addresses of hosts, and return the certificate."""
    names = ",".join(f"IP:{host.address}" for host in hosts)
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(folder / "server.key"), "-out", str(folder / "server.crt"), "-days", "2"]
    words += ["-subj", "/CN=database", "-addext", f"subjectAltName={names}"]
    subprocess.run(words, check=True, capture_output=True)
    return folder / "server.crt"


class TlsPostgres:
    """A server on a host. Tests reach it on its socket, the hosts over TCP."""

    def __init__(self, host: Host, folder: Path, certificate: Path) -> None:
        self.host = host
        self.folder = folder
        self._certificate = certificate
        self._data = folder / "data"
        folder.mkdir(mode=0o755)
        self._give(folder)

    def create(self) -> None:
        """Create the cluster, start it, and create the database with its owner."""
        self._run("initdb", "-D", str(self._data), "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
        self._configure()
        self.start()
        self.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE")
        self.execute(f"CREATE ROLE replication LOGIN REPLICATION PASSWORD '{_REPLICATION}'")
        self.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")

    def follow(self, primary: TlsPostgres) -> None:
        """Become a standby of another server, which waits for it with each commit."""
        address = f"host={primary.host.address} user=replication password={_REPLICATION} sslmode=require"
        words = ["-D", str(self._data), "-d", address, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]
        self._run("pg_basebackup", *words)
        self._configure()
        self.start()
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.execute("SELECT pg_reload_conf()")

    def promote(self) -> None:
        """Become the primary server."""
        self._control("promote")

    def start(self) -> None:
        """Start the server."""
        self._control("start", "-l", str(self.folder / "log"), "-t", "60")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; `immediate` is a crash."""
        self._control("stop", "-m", mode)

    def close(self) -> None:
        """Stop the server if it runs."""
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")

    def address(self, user: str = _ACCOUNT, database: str = DATABASE) -> str:
        """Return the address on the socket of the server, for tests."""
        return f"postgresql:///{database}?host={self.folder}&user={user}"

    def execute(self, statement: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the administrator."""
        with psycopg.connect(self.address(database=database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def set_password(self, role: str, password: str) -> None:
        """Set the password of a role."""
        statement = sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(password))
        self.execute(statement.as_string(None))

    def _configure(self) -> None:
        (self._data / "postgresql.auto.conf").touch()
        own = self._data / "postgresql.conf"
        own.write_text(own.read_text("utf-8") + _SETTINGS.format(folder=self.folder), encoding="utf-8")
        (self._data / "pg_hba.conf").write_text(_ACCESS, encoding="utf-8")
        for name in ("server.crt", "server.key"):
            shutil.copy(self._certificate.with_name(name), self._data / name)
            self._give(self._data / name)
        (self._data / "server.key").chmod(0o600)

    def _give(self, path: Path) -> None:
        account = pwd.getpwnam(_ACCOUNT)
        os.chown(path, account.pw_uid, account.pw_gid)

    def _control(self, verb: str, *words: str) -> None:
        self._run("pg_ctl", verb, "-w", "-s", "-D", str(self._data), *words)

    def _run(self, program: str, *words: str) -> None:
        """Run a program of the server on its host. PostgreSQL refuses to run as root."""
        folder = programs()
        assert folder is not None
        account = ["setpriv", f"--reuid={_ACCOUNT}", f"--regid={_ACCOUNT}", "--clear-groups", "--"]
        output = self.folder / "output"
        with output.open("wb") as said:  # not a pipe, which the server would inherit
            command = self.host.command(*account, str(folder / program), *words)
            home = {**os.environ, "HOME": str(self.folder)}  # certificates of root are not for this account
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", env=home, check=False
            )
        log = self.folder / "log"
        tail = log.read_text("utf-8", "replace")[-2000:] if log.exists() else ""
        assert done.returncode == 0, f"{program}: {output.read_text('utf-8', 'replace')}\n{tail}"
