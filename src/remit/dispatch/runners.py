"""Run a program as a subagent: it reads the brief and the task as JSON and prints a result.

Only programs that the configuration lists can run for a definition: it chooses one of them and cannot add one. A person
who names a program in a job, a plan or a review may also choose a preset.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import stat
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from remit.aio import run_with_keepalive
from remit.dispatch.analyser_table import ANALYSERS, Analyser, OutputError, OutputPart, from_sarif, listed_files
from remit.dispatch.analysers import AnalyserCommand, analyser_commands, find_analyser
from remit.dispatch.event_writer import EventWriter
from remit.dispatch.finish import RunEnd, RunStopped
from remit.dispatch.sarif_result import sarif_result
from remit.dispatch.tools.processes import close_pipes, isolated_command
from remit.dispatch.tools.sandbox import INSIDE, sandbox_command, sandbox_problem
from remit.dispatch.tools.supervisor import descendants, send_signal
from remit.dispatch.worker_settings import Settings
from remit.errors import shorten_error
from remit.evidence.receipts import Receipt
from remit.registry.definition import Brief
from remit.secrets.environment import without_secrets
from remit.secrets.scan import redact
from remit.store.jobs import Job
from remit.store.transcript import Transcript, UsageSums

#: Stands for the command lines of an analyser, which depend on its files.
_ANALYSER = "analyser"
#: Agents of other vendors and their commands, and the analysers. `{prompt}` is replaced by the whole task, `{scope}` by
#: the job's paths. The task follows `--`: it is never read as an option.
PRESETS = {
    "claude": "claude -p -- {prompt}",
    "codex": "codex exec -- {prompt}",
    "gemini": "gemini -- {prompt}",
    **dict.fromkeys(ANALYSERS, _ANALYSER),
}
#: In the receipt of an analyser: the files that it was given and did not read.
UNREAD = "unread"
#: As a command line in the configuration: lists a preset with its own command line.
_PRESET = "preset"
MAX_OUTPUT = 16 * 1024 * 1024
#: The most bytes of an analyser's output, which is a file.
_MAX_FILE = 2 * 1024 * 1024 * 1024
#: A line that states an error, in what a program prints while it works.
_ERROR_LINE = re.compile(r"\s*(?:error|fatal|panic)\b|.*\b\w*(?:Error|Exception):", re.IGNORECASE)
#: How long a program may take to end after SIGTERM; the supervisor takes a little longer to end its descendants.
_GRACE_SECONDS = 2.0
_END_SECONDS = 5.0
_POLL_SECONDS = 0.02


def listed_programs(settings: Settings, *, chosen_by_person: bool) -> dict[str, str]:
    """Return the command lines by name that may run: the listed ones, and for a person also the presets."""
    listed = {
        name: PRESETS.get(name, line) if line.strip() == _PRESET else line for name, line in settings.runners.items()
    }
    return {**PRESETS, **listed} if chosen_by_person else listed


class ProgramOutput(NamedTuple):
    """The output of a program and its exit code (128 plus the signal number if a signal ended it)."""

    code: int
    output: bytes
    errors: bytes
    #: The files that an analyser was given and did not read.
    unread: Sequence[str] = ()
    #: How many results of an analyser are left out.
    left_out: int = 0
    #: What the output of an analyser lacks. It has failed then, also if its exit code is 0.
    problem: str = ""


async def run_program(
    brief: Brief, job: Job, root: Path, settings: Settings, transcript: Transcript, events: EventWriter
) -> RunEnd:
    """Run the program of a brief. Its output is the result, or SARIF that is converted into one.

    A program that was running when its worker died is started again, so it must tolerate that.
    """
    name = brief.command or ""
    programs = listed_programs(settings, chosen_by_person=bool(job.request.get("command")))
    line = programs.get(name)
    analyser = ANALYSERS.get(name) if brief.runner == "sarif" and line == _ANALYSER else None
    if line is None or (line == _ANALYSER and analyser is None):
        raise RunStopped("error", f"this worker has no command {name!r} under `commands` in its configuration")
    await events.emit("program", {"command": name})
    program = name
    if analyser is not None:
        running = _analyse(analyser, job, root, settings)
    else:
        command = _command(line, brief, job, root)
        program = command[0]
        environment = _environment(without_keys=brief.runner == "sarif")
        running = run_supervised(command, _stdin(brief, job), root, environment)
    # As long as the program runs, the job does not hang; it is stopped when this attempt loses the job.
    try:
        ended = await run_with_keepalive(running, transcript.touch, settings.keepalive_seconds)
    except OSError as error:
        raise RunStopped("error", f"{program} cannot be started: {error.strerror}") from error
    code, output, errors = ended.code, _decoded(ended.output), _decoded(ended.errors)
    if settings.is_redacting:
        output, errors = [await asyncio.to_thread(redact, text) for text in (output, errors)]
    arguments = {"command": name, **({UNREAD: list(ended.unread)} if ended.unread else {})}
    has_failed = code != 0 or bool(ended.problem)
    receipt = Receipt(tool="Bash", arguments=arguments, exit=code, failed=has_failed)
    call = f"program:{job.attempt}"
    await transcript.begin_call(call, 1, name, {"command": name})
    shown = f"{errors}\n{output}" if has_failed else output
    await transcript.finish_call(call, shown[:10_000], receipt, is_failed=has_failed)
    text = output
    if brief.runner == "sarif" and (analyser is None or not has_failed):
        data = output.encode("utf-8", "replace")
        convert = partial(sarif_result, left_out=ended.left_out, scope=job.request.get("scope") or ())
        text = await asyncio.to_thread(convert, data, job.agent, root, brief.kind)
    elif analyser is not None:
        return RunEnd("error", output.strip(), _failure_of(ended, errors or output))
    elif code != 0:
        cause = shorten_error(errors.strip() or output.strip(), 500)
        return RunEnd("error", output.strip(), f"{name} ended with code {code}: {cause}")
    await transcript.save_message(0, msgspec.json.encode({"kind": "program", "text": text}), UsageSums(turns=1), text)
    return RunEnd("completed", text.strip())


def _failure_of(ended: ProgramOutput, errors: str) -> str:
    """Return why an analyser has failed: its exit code, what its output lacks, and the first lines of its errors."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    first = next((number for number, line in enumerate(lines) if _ERROR_LINE.match(line)), 0)
    cause = " ".join(lines[first : first + 4]) or "it printed no error"
    problem = f", {ended.problem}" if ended.problem else ""
    return f"exit code {ended.code}{problem}: {shorten_error(cause, 300)}"


async def _analyse(analyser: Analyser, job: Job, root: Path, settings: Settings) -> ProgramOutput:
    """Run an analyser over its files, in the sandbox if there is one, and return its output as one SARIF file."""
    scope = job.request.get("scope") or ["."]
    is_sandboxed = not await asyncio.to_thread(sandbox_problem)
    available = await asyncio.to_thread(find_analyser, analyser, root, scope, has_sandbox=is_sandboxed)
    if available.why_not:
        raise RunStopped("error", f"{analyser.name} cannot run: {available.why_not}")
    with tempfile.TemporaryDirectory(prefix="remit-") as scratch, contextlib.ExitStack() as opened:
        prefix: list[str] = []
        environment = _environment(without_keys=True)
        if is_sandboxed:
            hidden = (str(settings.data),)
            prefix = sandbox_command(root, Path(scratch), network=False, hidden=hidden, is_read_only=True)
            environment |= {"XDG_CACHE_HOME": f"{INSIDE}/cache"}  # the folder of the user cannot be written there
        run = _AnalyserRun(analyser, root, Path(scratch), prefix, environment, opened)
        outputs: list[AnalyserOutput] = []
        errors = b""
        code = 0
        for command in analyser_commands(available, root, scope, INSIDE if is_sandboxed else scratch):
            ended, output = await run.start(command)
            errors += ended.errors
            code = ended.code
            if output is None:
                return ended._replace(errors=errors)
            outputs.append(output)
        try:
            combined = await asyncio.to_thread(combined_sarif, analyser, outputs, root)
        except OutputError as error:
            begin = b"\n".join(_beginning(output.file) for output in outputs[:5])
            return ProgramOutput(code, begin, errors, problem=str(error))
    return ProgramOutput(0, combined.sarif, errors, combined.unread, combined.left_out)


class _AnalyserRun(NamedTuple):
    """How the command lines of an analyser are started. An output is a file: it may be larger than the memory."""

    analyser: Analyser
    root: Path
    scratch: Path
    prefix: list[str]
    environment: dict[str, str]
    opened: contextlib.ExitStack

    async def start(self, command: AnalyserCommand) -> tuple[ProgramOutput, AnalyserOutput | None]:
        """Run a command line. The output is None if the program failed."""
        folder = self.scratch / command.output
        folder.mkdir()
        printed = self.opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
        words = [*self.prefix, *command.words]
        ended = await run_supervised(words, b"", self.root, self.environment, output_file=printed)
        file: IO[bytes] | None = printed
        if self.analyser.writes:
            file = await asyncio.to_thread(_written, folder, self.analyser.writes)
        if ended.code not in self.analyser.codes or file is None:
            problem = "" if file is not None else f"it did not write {self.analyser.writes}"
            return ended._replace(output=_beginning(printed), problem=problem), None
        if file is not printed:
            self.opened.enter_context(file)
        if os.fstat(file.fileno()).st_size >= _MAX_FILE:
            return ended._replace(problem=f"its output has more than {_MAX_FILE >> 20:,} MiB"), None
        file.seek(0)
        listed = None
        if command.listing:
            listing = await run_supervised([*self.prefix, *command.listing], b"", self.root, self.environment)
            listed = listing.output if listing.code == 0 else None
        return ended, AnalyserOutput(file, command.files, listed)


def _beginning(file: IO[bytes]) -> bytes:
    """Return the first bytes of a file, to show them."""
    file.seek(0)
    return file.read(10_000)


def _written(folder: Path, name: str) -> IO[bytes] | None:
    """Open the file that an analyser wrote; None if there is no such file. A link is not followed."""
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        file = os.fdopen(descriptor, "rb")
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return file
    file.close()
    return None


def _command(line: str, brief: Brief, job: Job, root: Path) -> list[str]:
    prompt = "\n\n".join(filter(None, (brief.system, brief.contract, job.prompt)))
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise RunStopped("error", f"the command line of {brief.command!r} cannot be parsed: {error}") from error
    if not words:
        raise RunStopped("error", f"the command line of {brief.command!r} is empty")
    if "/" in words[0] and not words[0].startswith("/"):
        # A relative path would run a program of the checkout.
        raise RunStopped("error", f"the command {brief.command!r} must name a program on the PATH or an absolute path")
    scope = [f"./{path}" if path.startswith("-") else path for path in job.request.get("scope") or ["."]]
    # A command line without `--` must not take a task that begins with a dash for an option.
    special = {"{prompt}": [f" {prompt}" if prompt.startswith("-") else prompt], "{scope}": scope}
    return [replacement for word in words for replacement in special.get(word, [word])]


def _stdin(brief: Brief, job: Job) -> bytes:
    task = {"schema": "remit.task/1", "job": job.id, "agent": job.agent, "prompt": job.prompt}
    return msgspec.json.encode({**task, "brief": msgspec.to_builtins(brief)})


def _environment(*, without_keys: bool) -> dict[str, str]:
    """Return the environment of a program: without keys for an analyser, with them for another vendor's agent."""
    if without_keys:
        return without_secrets()
    return {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def resolve_program(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the path of the program that a command names. Raises OSError.

    Relative folders of the PATH are ignored: the program runs in the checkout and must not be a file of it.
    """
    folders = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
    path = shutil.which(command[0], path=os.pathsep.join(folders))
    if path is not None:
        return path
    exists = "/" in command[0] and Path(command[0]).exists()
    raise PermissionError(13, os.strerror(13)) if exists else FileNotFoundError(2, os.strerror(2))


async def run_supervised(
    command: Sequence[str],
    stdin: bytes,
    folder: Path,
    environment: Mapping[str, str],
    output_file: IO[bytes] | None = None,
) -> ProgramOutput:
    """Run a program under the supervisor. If this is cancelled, the program is ended first. Raises OSError.

    With `output_file`, the output is written to it, and is empty in what is returned.
    """
    program = await asyncio.to_thread(resolve_program, command, environment)
    settings = msgspec.json.encode({"parent": os.getpid(), "grace": _GRACE_SECONDS, "limits": {}}).decode()
    process = await asyncio.create_subprocess_exec(
        *isolated_command("supervisor", settings, program, *command[1:]),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=dict(environment),
    )
    output, errors = bytearray(), bytearray()
    reading = _read(process.stdout, output) if output_file is None else _copy(process.stdout, output_file)
    pipes = asyncio.gather(_write(process, stdin), reading, _read(process.stderr, errors))
    try:
        while process.returncode is None:  # noqa: ASYNC110 (`wait` also waits for a descendant that keeps a pipe open)
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        await asyncio.shield(_end(process, pipes))
    return ProgramOutput(process.returncode, bytes(output), bytes(errors))


async def _write(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the program may ignore its input
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader | None, output: bytearray) -> None:
    while stream is not None and (piece := await stream.read(65_536)):
        output += piece[: max(0, MAX_OUTPUT - len(output))]


async def _copy(stream: asyncio.StreamReader | None, file: IO[bytes]) -> None:
    size = 0
    while stream is not None and (piece := await stream.read(65_536)):
        size += file.write(piece[: max(0, _MAX_FILE - size)])


async def _end(process: asyncio.subprocess.Process, pipes: asyncio.Future[tuple[None, None, None]]) -> None:
    """End the program if it is running, and close its pipes, which a descendant could keep open for ever."""
    if process.returncode is None:
        send_signal(signal.SIGTERM, [process.pid])
        if not await _has_ended(process, _END_SECONDS):
            left = await asyncio.to_thread(descendants, process.pid)
            send_signal(signal.SIGKILL, [process.pid, *left])
            await _has_ended(process, _END_SECONDS)
    await close_pipes(process, pipes)


async def _has_ended(process: asyncio.subprocess.Process, seconds: float) -> bool:
    deadline = asyncio.get_running_loop().time() + seconds
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(_POLL_SECONDS)
    return process.returncode is not None


#: The most results of one rule that are kept, the most of all rules, and the most characters. The rest is counted.
MAX_OF_RULE = 2_000
MAX_RESULTS = 20_000
_MAX_CHARACTERS = 32 * 1024 * 1024
#: The most characters of one value, such as a result or a list of rules.
_MAX_VALUE = 16 * 1024 * 1024
_CHUNK = 1024 * 1024


class AnalyserOutput(NamedTuple):
    """What one command of an analyser printed, and what its listing printed, if it has one."""

    file: IO[bytes]
    files: tuple[str, ...]
    listed: bytes | None = None


class CombinedOutput(NamedTuple):
    """The results of an analyser as SARIF, the files that it did not read, and how many results are left out."""

    sarif: bytes
    unread: list[str]
    left_out: int


def combined_sarif(analyser: Analyser, outputs: Sequence[AnalyserOutput], root: Path) -> CombinedOutput:
    """Return the outputs of an analyser as one SARIF file.

    Raises OutputError if an output is not complete.
    """
    kept = _KeptResults()
    runs: list[_Run] = []
    inside = os.path.realpath(root)
    unread: set[str] = set()
    for output in outputs:
        items = json_lines(output.file) if analyser.is_lines else json_items(output.file, analyser.containers)
        try:
            unread.update(_read_output(analyser, items, output.files, inside, kept, runs))
        except OutputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise OutputError("its output is not complete") from error
        if output.listed is not None:
            unread.update(set(output.files) - listed_files(output.listed, inside))
    sarif = b'{"version": "2.1.0", "runs": [' + b", ".join(run.sarif() for run in runs) + b"]}"
    return CombinedOutput(sarif, sorted(unread), kept.left_out)


def _read_output(
    analyser: Analyser,
    items: Iterator[OutputPart],
    files: Collection[str],
    root: str,
    kept: _KeptResults,
    runs: list[_Run],
) -> set[str]:
    """Add the runs of one output, and return the files that were not read."""
    read: set[str] = set()
    unread: set[str] = set()
    reads_only_stated = False
    run: _Run | None = None
    for reading in (analyser.convert or from_sarif)(items, root):
        if run is None or reading.starts_run:
            run = _Run({"tool": {"driver": {"name": analyser.name}}}, [])
            runs.append(run)
        run.parts.update(reading.parts)
        run.results.extend(kept.added(reading.results))
        read.update(reading.read)
        unread.update(reading.unread)
        reads_only_stated |= reading.reads_only_stated
    return unread | (set(files) - read if reads_only_stated else set())


class _Run(NamedTuple):
    """A run with its encoded results."""

    parts: dict[str, Any]
    results: list[bytes]

    def sarif(self) -> bytes:
        """Return the run as SARIF; one whose list of results is not a list stays without results."""
        results = b"" if "results" in self.parts else b', "results": [' + b", ".join(self.results) + b"]"
        return json.dumps(self.parts).encode()[:-1] + results + b"}"


class _KeptResults:
    """Which results of all outputs are kept."""

    def __init__(self) -> None:
        self.left_out = 0
        self._room = _MAX_CHARACTERS
        self._places: set[int] = set()
        self._of_rule: Counter[str] = Counter()

    def added(self, results: Sequence[Any]) -> Iterator[bytes]:
        """Yield the results that are kept, without those at one place that are equal."""
        for result in results:
            rule, place = _rule_and_place(result)
            if place in self._places:
                continue
            encoded = json.dumps(result).encode()
            is_full = self._of_rule[rule] >= MAX_OF_RULE or len(self._places) >= MAX_RESULTS
            if is_full or len(encoded) > self._room:
                self.left_out += 1
                continue
            self._of_rule[rule] += 1
            self._places.add(place)
            self._room -= len(encoded)
            yield encoded


def _rule_and_place(result: Any) -> tuple[str, int]:
    """Return the rule of a result, and a number for its rule, place and message."""
    if not isinstance(result, dict):
        return "", hash(json.dumps(result))
    rule = str(result.get("ruleId") or result.get("rule") or result.get("ruleIndex"))
    places = json.dumps(_without_columns(result.get("locations")))
    return rule, hash((rule, places, json.dumps(result.get("message"))))


def _without_columns(value: Any) -> Any:
    """Return locations without columns, offsets and snippets: results in one line are at one place."""
    if isinstance(value, list):
        return [_without_columns(each) for each in value[:20]]
    if not isinstance(value, dict):
        return value
    if "startLine" in value:
        return [value["startLine"], value.get("endLine")]
    return {key: _without_columns(each) for key, each in value.items()}


def json_lines(file: IO[bytes]) -> Iterator[OutputPart]:
    """Yield the value of each line that has a JSON object."""
    while line := file.readline(_MAX_VALUE):
        if line.startswith(b"{"):
            yield OutputPart((), json.loads(line))


def json_items(file: IO[bytes], containers: Collection[tuple[str, ...]]) -> Iterator[OutputPart]:
    """Yield the values of a JSON document in their order, without reading the whole document into memory.

    A value whose path is in `containers` is entered: it is yielded as an empty list or object, and its members follow.
    The path has the keys, with `*` for each element of a list.
    """
    reader = _JsonReader(file)
    if not reader.next():
        raise OutputError("it printed no results")
    yield from _items(reader, (), containers)
    if reader.next():
        raise OutputError("its output is more than one document")


def _items(reader: _JsonReader, path: tuple[str, ...], containers: Collection[tuple[str, ...]]) -> Iterator[OutputPart]:
    kind = reader.next()
    if path not in containers or kind not in ("[", "{"):
        yield OutputPart(path, reader.value())
        return
    yield OutputPart(path, [] if kind == "[" else {})
    reader.skip(kind)
    end = "]" if kind == "[" else "}"
    while reader.next() != end:
        key = "*"
        if kind == "{":
            key = str(reader.value())
            reader.skip(":")
        yield from _items(reader, (*path, key), containers)
        if reader.next() != end:
            reader.skip(",")
    reader.skip(end)


class _JsonReader:
    """Reads the values of a JSON document one after another from a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._value = json.JSONDecoder().raw_decode
        self._text = ""
        self._position = 0
        self._is_end = False

    def next(self) -> str:
        """Return the next character that is not a space; empty at the end."""
        while True:
            while self._position < len(self._text):
                character = self._text[self._position]
                if character not in " \t\r\n":
                    return character
                self._position += 1
            if self._is_end:
                return ""
            self._more()

    def skip(self, character: str) -> None:
        """Skip the next character, which must be this one."""
        if self.next() != character:
            raise OutputError("its output ends early" if not self.next() else "its output is not complete")
        self._position += 1

    def value(self) -> Any:
        """Return the next value."""
        self.next()
        while True:
            try:
                value, end = self._value(self._text, self._position)
            except ValueError:
                if self._is_end:
                    raise OutputError("its output ends early or is not JSON") from None
            else:
                if end < len(self._text) or self._is_end:  # a number may go on
                    self._position = end
                    return value
            self._more()

    def _more(self) -> None:
        """Read as much again as is left, so that a long value is not parsed many times."""
        rest = self._text[self._position :]
        if len(rest) > _MAX_VALUE:
            raise OutputError(f"its output has a value of more than {_MAX_VALUE:,} characters, or is not JSON")
        data = self._file.read(max(_CHUNK, len(rest)))
        self._is_end = not data
        self._text, self._position = rest + self._decode(data, self._is_end), 0
