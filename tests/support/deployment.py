"""A deployment on several hosts: two database servers, a provider, two worker hosts and a client host.

The hosts are network namespaces (`support.network`). The workers and the client reach the database over TCP with TLS
and a password, and nothing else on its host.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import psycopg
from psycopg.rows import dict_row
from support import network, tls_postgres
from support.fleet import submitted
from support.network import Host, Network, inside
from support.tls_postgres import DATABASE, OWNER, PORT, TlsPostgres
from support.waiting import until

from remit import testing
from remit.dispatch.submit import Queueing

T = TypeVar("T")
PASSWORD = "fleet_password_5d10"
API_KEY = "sk-ant-api-key-of-the-fleet-5521"
TASK = "count the quokkas of Rottnest"
_BUILDER = """---
name: builder
description: builds
tools: Read, Write, Bash
---
You build what is asked for.
"""
_COMMAND = "from remit.surfaces.cli import main; main()"
#: Variables that processes do not inherit from the environment of the tests.
_FOREIGN = ("REMIT_", "ANTHROPIC_", "OPENAI_", "GBRAIN_", "PG")
EFFECTS = "effects.log"


def why_not() -> str:
    """Return why a deployment cannot run here; empty if it can."""
    return network.why_not() or tls_postgres.why_not()


def turns(name: str, number: int) -> list[dict[str, Any]]:
    """Return the conversation of a job: turns behind gates, of which all but the last append a line to a file."""
    calls = [
        {"tools": [{"name": "Bash", "input": {"command": f"echo {turn} >> {EFFECTS}"}}], "gate": f"{name}-{turn}"}
        for turn in range(number - 1)
    ]
    return [*calls, {"text": testing.result("generic"), "gate": f"{name}-{number - 1}"}]


def script_of(**jobs: int) -> dict[str, Any]:
    """Return the script of the model for jobs, given by their names and numbers of turns."""
    return {"conversations": {f"<{name}>": turns(name, number) for name, number in jobs.items()}}


class RemoteProcess:
    """A process of remit on a host."""

    def __init__(self, host: Host, words: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self.host = host
        self._path = folder / f"{host.name}-{os.urandom(4).hex()}"
        with self._path.open("wb") as output:
            self._process = subprocess.Popen(
                host.command(sys.executable, "-c", _COMMAND, *words),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                cwd=environment["PWD"],
            )
        self.pid = self._process.pid

    @property
    def output(self) -> str:
        return self._path.read_text("utf-8", "replace")

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float = 120) -> int:
        return self._process.wait(seconds)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class Provider:
    """The scripted model on its host."""

    def __init__(self, host: Host, script: Mapping[str, Any], folder: Path) -> None:
        self._host = host
        path = folder / "model-script.json"
        path.write_text(json.dumps(script), encoding="utf-8")
        program = Path(__file__).with_name("model_server.py")
        words = host.command(sys.executable, str(program), str(path), "--host", host.address)
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = f"http://{host.address}:{self._process.stdout.readline().strip()}"

    def wait(self, gate: str, arrived: int = 1) -> None:
        """Return when `arrived` requests have reached a gate."""
        self._ask("GET", f"/_wait/{quote(gate)}?waiting=0&arrived={arrived}")

    def asked(self, name: str) -> int:
        """Return how many requests the job of a name has made."""
        return sum(f"<{name}>" in json.dumps(one["body"]["messages"][0]) for one in self._ask("GET", "/_requests"))

    def open(self, gate: str) -> None:
        self._ask("POST", f"/_open/{quote(gate)}")

    def end(self) -> None:
        self._process.kill()
        with self._process:
            pass

    def _ask(self, method: str, path: str) -> Any:
        with inside(self._host.namespace):
            request = urllib.request.Request(self.url + path, method=method)
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)


class Deployment:
    """The hosts, the servers and the processes of remit on them."""

    def __init__(self, switch: Network, folder: Path, script: Mapping[str, Any], *, has_standby: bool = False) -> None:
        self.network = switch
        self.folder = folder
        self.database = switch.host("db1")
        self.standby_host = switch.host("db2")
        self.client = switch.host("client")
        self.workers = [switch.host("worker1"), switch.host("worker2")]
        self.processes: list[RemoteProcess] = []
        #: Parameters of the addresses of workers and submitters.
        self.limits: dict[str, object] = {}
        self.certificate = tls_postgres.certificate(folder, self.database, self.standby_host)
        self.primary = TlsPostgres(self.database, folder / "db1", self.certificate)
        self.primary.create()
        self.primary.set_password(OWNER, PASSWORD)
        self.servers = [self.primary]
        if has_standby:
            self.servers.append(TlsPostgres(self.standby_host, folder / "db2", self.certificate))
            self.servers[1].follow(self.primary)
        self.provider = Provider(switch.host("provider"), script, folder)
        (folder / "plugin" / "agents").mkdir(parents=True)
        (folder / "plugin" / "agents" / "builder.md").write_text(_BUILDER, encoding="utf-8")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)},
            "PWD": str(folder),
            "REMIT_STATE": str(folder / "data"),
            "REMIT_PROJECT": "tests",
            "REMIT_PLUGIN_PATH": str(folder / "plugin"),
            "REMIT_MODEL": "anthropic:claude-opus-5",
        }

    def url(self, **parameters: object) -> str:
        """Return the address of the database: all hosts, TLS with a verified certificate."""
        hosts = ",".join(f"{server.host.address}:{PORT}" for server in self.servers)
        options = {"sslmode": "verify-full", "sslrootcert": str(self.certificate), **parameters}
        words = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in options.items())
        return f"postgresql://{OWNER}:{PASSWORD}@{hosts}/{DATABASE}?{words}"

    def start(self, host: Host, *words: str, **environment: str) -> RemoteProcess:
        """Start a command of remit on a host."""
        process = RemoteProcess(host, words, {**self.environment, **environment}, self.folder)
        self.processes.append(process)
        return process

    def worker(self, number: int, **environment: str) -> RemoteProcess:
        """Start a worker on a host, which has the key of the provider."""
        return self.start(
            self.workers[number],
            "worker",
            REMIT_DATABASE_URL=self.url(**self.limits),
            ANTHROPIC_API_KEY=API_KEY,
            ANTHROPIC_BASE_URL=self.provider.url,
            **environment,
        )

    def ready(self, *workers: RemoteProcess) -> None:
        """Wait until workers have started."""
        self.until(lambda: all("worker started" in one.output or not one.is_alive for one in workers))
        assert all(one.is_alive for one in workers), self._explain()

    def submit(self, name: str, *words: str, **environment: str) -> int:
        """Submit a job from the client host and return its number."""
        task = ("run", "--detach", "builder", f"{TASK} <{name}>", "--format", "json")
        place = {"PWD": str(self.workspace(name)), "REMIT_DATABASE_URL": self.url(**self.limits)}
        process = self.start(self.client, *task, *words, **{**place, **environment})
        assert process.wait() == 0, process.output
        shape, _ = json.JSONDecoder().raw_decode(process.output, process.output.index("{"))
        return int(shape["id"])

    def submit_here(self, name: str) -> int:
        """Submit a job from the client host and this process, which has imported everything."""
        wanted = [(f"{TASK} <{name}>", self.workspace(name), Queueing())]
        with inside(self.client.namespace):
            (number,) = asyncio.run(submitted(self.url(**self.limits), testing.registry(_BUILDER), wanted))
        return number

    def workspace(self, name: str) -> Path:
        """Return the folder of a job, which all hosts share."""
        folder = self.folder / f"job-{name}"
        folder.mkdir(exist_ok=True)
        return folder

    def effects(self, name: str) -> list[str]:
        """Return the effects of a job's commands."""
        path = self.workspace(name) / EFFECTS
        return path.read_text("utf-8").split() if path.exists() else []

    def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        """Run a statement as the administrator, on the socket of the primary server."""
        address = self.primary.address()
        with psycopg.connect(address, autocommit=True, row_factory=dict_row) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def job(self, number: int) -> dict[str, Any]:
        return self.rows("SELECT * FROM remit.jobs WHERE id = %s", number)[0]

    def finished(self, number: int, name: str, turns: int) -> dict[str, Any]:
        """Wait for the end of a job, and assert that it is complete and that no effect is lost or doubled."""
        self.until(lambda: self.job(number)["state"] == "finished")
        end = self.job(number)
        assert (end["outcome"], end["turns"], end["tool_calls"]) == ("completed", turns, turns - 1), end["error"]
        assert self.effects(name) == [str(turn) for turn in range(turns - 1)]
        states = self.rows("SELECT state FROM remit.tool_calls WHERE job = %s", number)
        assert [row["state"] for row in states] == ["done"] * (turns - 1)
        assert self.rows("SELECT count(*) FROM remit.messages WHERE job = %s", number)[0]["count"] == 2 * turns
        ends = self.rows("SELECT count(*) FROM remit.events WHERE job = %s AND kind = 'finished'", number)
        assert ends[0]["count"] == 1
        return end

    def readable(self) -> list[str]:
        """Return the secrets and texts that can be read in the traffic of the database hosts."""
        captured = self.network.captured
        return [text for text in (PASSWORD, API_KEY, TASK) if text.encode() in captured]

    def owner_of(self, job: int, workers: Sequence[RemoteProcess]) -> int:
        """Return which of the workers runs a job."""
        (row,) = self.rows(
            "SELECT pid FROM remit.workers JOIN remit.jobs ON jobs.worker = workers.id WHERE jobs.id = %s", job
        )
        return [one.pid for one in workers].index(row["pid"])

    def fail_over(self) -> None:
        """Cut the primary server off from everybody, and let its standby take its place."""
        self.network.cut(self.database, self.standby_host, self.client, *self.workers)
        self.primary = self.servers[1]
        self.primary.promote()

    def until(self, condition: Callable[[], T], seconds: float = 120) -> T:
        """Wait for a condition; on failure show the output of all processes."""
        return until(condition, self._explain, seconds)

    def _explain(self) -> str:
        return "\n".join(f"{one.host.name} ({one.is_alive}): {one.output[-3000:]}" for one in self.processes)

    def close(self) -> None:
        for process in self.processes:
            process.end()
        self.provider.end()
        for server in self.servers:
            server.close()


@contextlib.contextmanager
def deployed(script: Mapping[str, Any], *, has_standby: bool = False) -> Iterator[Deployment]:
    """Make a deployment, and remove it afterwards. The traffic of the database hosts is recorded."""
    folder = Path(tempfile.mkdtemp(prefix="remit-hosts-"))  # the account of the server must be able to reach it
    folder.chmod(0o755)
    try:
        with Network(recorded=["db1", "db2"]) as switch, contextlib.ExitStack() as stack:
            deployment = Deployment(switch, folder, script, has_standby=has_standby)
            stack.callback(deployment.close)
            yield deployment
    finally:
        shutil.rmtree(folder, ignore_errors=True)
