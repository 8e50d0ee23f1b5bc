"""Compare the answers of two versions of Remit on the same documents, claim by claim.

    python bench/accuracy/compare.py answers --documents LIST.jsonl --out FILE.jsonl [--src OTHER/src]
    python bench/accuracy/compare.py differences BEFORE.jsonl AFTER.jsonl
    python bench/accuracy/compare.py counts [--documents FOLDER]

A row of LIST has the `id` of a document, the `tree` that it is checked against, and `document`: its path in the tree,
or an absolute path. Its `set` is optional. `answers` writes one line for each claim, and one with an `error` for a
document that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import score

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src"
#: Kinds of claims that earlier versions of Remit report as one: a location, with or without a line or a name.
_REFERENCES = frozenset({"place", "path", "name"})
_MARKDOWN = frozenset({".md", ".mdx", ".markdown"})
#: Folders with documents about other code.
_SKIPPED_FOLDERS = frozenset({".git", "node_modules", ".venv", "vendor", "site-packages"})
#: Seconds for one document.
_TIMEOUT = 300
_ERROR_LINES = 2
#: What a report has about a claim in addition to `Answer`; it is written to the file as it is.
_DETAILS = ("text", "name", "why", "found", "then", "signals", "candidates", "match")


class Document(NamedTuple):
    """A document and the checkout that its claims are about."""

    id: str
    tree: Path
    path: Path
    set: str = ""


class Answer(NamedTuple):
    """What a version of Remit states about one claim. `at` is the line of the document."""

    document: str
    at: int
    kind: str
    path: str
    line: int | None
    end_line: int | None
    outcome: str
    fails: bool
    reason: str

    @property
    def family(self) -> str:
        """The kind that all versions have in common."""
        return "reference" if self.kind in _REFERENCES else self.kind

    @property
    def place(self) -> tuple[str, int, int, int, str]:
        """The claim without its path, which versions write differently. Earlier ones have no last line of a quote."""
        last = 0 if self.family == "quote" else self.end_line or 0
        return self.document, self.at, self.line or 0, last, self.family

    @property
    def state(self) -> str:
        """The outcome, and whether the claim fails."""
        return f"{self.outcome} (fails)" if self.fails else self.outcome


class Difference(NamedTuple):
    """A claim whose answers differ; None: that version does not read it."""

    before: Answer | None
    after: Answer | None

    @property
    def change(self) -> tuple[str, str]:
        """Both answers as words."""
        return self.before.state if self.before else "not read", self.after.state if self.after else "not read"


def read_documents(path: Path) -> list[Document]:
    """Return the documents of a list."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [
        Document(row["id"], Path(row["tree"]), Path(row["tree"], row["document"]), row.get("set", "")) for row in rows
    ]


def documents_of(folder: Path) -> list[Document]:
    """Return the Markdown documents of a checkout."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix.lower() in _MARKDOWN and path.is_file())
    names = ((path, path.relative_to(folder)) for path in paths)
    return [Document(name.as_posix(), folder, path) for path, name in names if _SKIPPED_FOLDERS.isdisjoint(name.parts)]


def rows_of_report(document: str, report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the claims of one result of `remit verify --format json`, of this version or an earlier one."""
    claims: Iterable[tuple[str, dict[str, Any]]]
    if "claims" in report:
        claims = ((claim["kind"], claim) for claim in report["claims"])
    else:
        claims = (
            (kind, claim)
            for kind, member in (("reference", "references"), ("quote", "quotes"), ("change", "changes"))
            for claim in report.get(member, ())
        )
    for kind, claim in claims:
        details = {name: claim[name] for name in _DETAILS if claim.get(name)}
        yield {
            "document": document,
            "at": claim.get("at") or 0,
            "kind": kind,
            "path": claim.get("path") or "",
            "line": claim.get("line"),
            "end_line": claim.get("end_line"),
            "outcome": claim["outcome"],
            "fails": bool(claim.get("fails")),
            "reason": claim.get("reason") or "",
            **details,
        }


def verify(document: Document, sources: Path) -> list[dict[str, Any]]:
    """Return the rows of one document. Another process checks it, so that any version can be measured."""
    # With -P, a module in the checkout is not imported in place of one of the standard library.
    command = [sys.executable, "-P", "-m", "remit", "verify", str(document.path), "--repo", str(document.tree)]
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    try:
        completed = subprocess.run(
            [*command, "--format", "json"],
            cwd=document.tree,
            env=environment,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return [{"document": document.id, "error": f"no answer after {_TIMEOUT} s"}]
    try:
        results = json.loads(completed.stdout)["results"]
        return [row for result in results for row in rows_of_report(document.id, result)]
    except (ValueError, KeyError) as problem:
        # The last lines of a traceback name the exception.
        lines = completed.stderr.decode("utf-8", "replace").strip().splitlines()[-_ERROR_LINES:]
        return [{"document": document.id, "error": " / ".join(lines) or repr(problem)}]


def verify_all(documents: Sequence[Document], sources: Path, processes: int) -> list[dict[str, Any]]:
    """Return the rows of all documents in their order."""
    with ThreadPoolExecutor(processes) as pool:
        answered = zip(documents, pool.map(lambda document: verify(document, sources), documents), strict=True)
        return [{**row, "set": document.set} for document, rows in answered for row in rows]


def read_answers(rows: Iterable[dict[str, Any]]) -> list[Answer]:
    """Return the claims of rows."""
    return [Answer(*(row[name] for name in Answer._fields)) for row in rows if "error" not in row]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file that `answers` has written."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def differences(before: Sequence[Answer], after: Sequence[Answer]) -> list[Difference]:
    """Return the claims whose outcome differs, or whether they fail, or that only one version reads."""
    rest: dict[tuple[str, int, int, int, str], list[Answer]] = {}
    for answer in after:
        rest.setdefault(answer.place, []).append(answer)
    pairs: list[Difference] = []
    unmatched: list[Answer] = []
    for answer in before:
        same = next((other for other in rest.get(answer.place, ()) if other.path == answer.path), None)
        if same is None:
            unmatched.append(answer)
        else:
            rest[answer.place].remove(same)
            pairs.append(Difference(answer, same))
    for answer in unmatched:
        # Versions differ in how much of a path they read, but not in the file that is meant.
        near = next((other for other in rest.get(answer.place, ()) if _is_same_file(other.path, answer.path)), None)
        if near is not None:
            rest[answer.place].remove(near)
        pairs.append(Difference(answer, near))
    pairs += (Difference(None, answer) for answers in rest.values() for answer in answers)
    return sorted((pair for pair in pairs if len(set(pair.change)) == 2), key=_position)


def _is_same_file(path: str, other: str) -> bool:
    shorter, longer = sorted((path.lstrip("./"), other.lstrip("./")), key=len)
    return longer == shorter or longer.endswith("/" + shorter)


def _position(difference: Difference) -> tuple[str, int, str]:
    answer = difference.after or difference.before
    assert answer is not None
    return answer.document, answer.at, answer.path


def differences_table(found: Sequence[Difference], *, listed: bool = True) -> str:
    """Return how often each answer changed into which, and the list of the claims."""
    counts = Counter((*difference.change, _family(difference)) for difference in found)
    lines = [f"{len(found)} differences", "", "| claim | before | after | claims |", "|---|---|---|---|"]
    lines += [
        f"| {family} | {before} | {after} | {number} |" for (before, after, family), number in counts.most_common()
    ]
    if listed:
        lines += ["", "| document | line | claim | before | after | reason |", "|---|---|---|---|---|---|"]
        lines += map(_difference_row, found)
    return "\n".join(lines)


def _family(difference: Difference) -> str:
    answer = difference.after or difference.before
    assert answer is not None
    return answer.family


def _difference_row(difference: Difference) -> str:
    answer = difference.after or difference.before
    assert answer is not None
    span = f":{answer.line}" if answer.line else ""
    span += f"-{answer.end_line}" if answer.end_line else ""
    before, after = difference.change
    reason = difference.after.reason if difference.after else ""
    return f"| {answer.document} | {answer.at} | {answer.family} {answer.path}{span} | {before} | {after} | {reason} |"


def counts_table(answers: Sequence[Answer]) -> str:
    """Return the number of claims by kind and outcome."""
    counts = Counter((answer.kind, answer.state) for answer in answers)
    lines = ["| kind | outcome | claims |", "|---|---|---|"]
    lines += [f"| {' | '.join(key)} | {number} |" for key, number in sorted(counts.items())]
    return "\n".join([*lines, "", f"{len(answers)} claims"])


def _errors_text(rows: Iterable[dict[str, Any]]) -> str:
    return "\n".join(f"error: {row['document']}: {row['error']}" for row in rows if "error" in row)


def write_answers(arguments: argparse.Namespace) -> int:
    """Check all documents of a list; return 1 if one of them fails."""
    documents = read_documents(arguments.documents)
    rows = verify_all(documents, arguments.src, arguments.processes)
    arguments.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(counts_table(read_answers(rows)))
    errors = _errors_text(rows)
    print(f"{len(documents)} documents, {errors.count(chr(10)) + bool(errors)} with an error", errors, sep="\n")
    return 1 if errors else 0


def print_differences(arguments: argparse.Namespace) -> int:
    """Print the differences of two files; return 1 if there are any."""
    before, after = read_rows(arguments.before), read_rows(arguments.after)
    found = differences(read_answers(before), read_answers(after))
    print(differences_table(found, listed=not arguments.counts))
    for name, rows in (("before", before), ("after", after)):
        if errors := _errors_text(rows):
            print(f"{name}:", errors, sep="\n")
    return 1 if found else 0


def print_counts(arguments: argparse.Namespace) -> int:
    """Print the counts of a checkout's own documents, or the counts and figures of the labelled corpus."""
    if arguments.documents is not None:
        folder = arguments.documents.resolve()
        rows = verify_all(documents_of(folder), arguments.src, arguments.processes)
        print(counts_table(read_answers(rows)), _errors_text(rows), sep="\n")
        return 1 if any("error" in row for row in rows) else 0
    command = [sys.executable, str(HERE / "remit_answers.py")]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    rows = [row for result in report["results"] for row in rows_of_report(result["path"], result)]
    labels, answers = score.read_labels(), score.read_answers(report)
    print(score.table(score.figures(labels, answers)), "", counts_table(read_answers(rows)), sep="\n")
    print(*score.mistakes(labels, answers), sep="\n")
    return 0


def main() -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    commands = parser.add_subparsers(required=True)
    answers = commands.add_parser("answers", help="write the answers on a list of documents")
    answers.add_argument("--documents", type=Path, required=True, help="the list of documents, as JSON lines")
    answers.add_argument("--out", type=Path, required=True, help="the file to write")
    answers.set_defaults(run=write_answers)
    compared = commands.add_parser("differences", help="print the claims whose answers differ")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    compared.add_argument("--counts", action="store_true", help="only the counts, without the list of the claims")
    compared.set_defaults(run=print_differences)
    counts = commands.add_parser("counts", help="print the number of claims by kind and outcome")
    counts.add_argument("--documents", type=Path, help="check the Markdown documents of this checkout")
    counts.set_defaults(run=print_counts)
    for command in (answers, counts):
        command.add_argument("--src", type=Path, default=SOURCES, help="the sources of the version to measure")
        command.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    result: int = arguments.run(arguments)
    return result


if __name__ == "__main__":
    sys.exit(main())
