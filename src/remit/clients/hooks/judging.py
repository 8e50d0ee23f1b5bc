"""Judge a subagent's report against the contract and the project, with its transcript as receipts."""

from __future__ import annotations

import os
import stat

import msgspec

from remit.acceptance import ReportJudgement, judge_report, unverified_report
from remit.checking import Options, Verdict
from remit.clients.hooks.deadline import TooSlow, before_deadline
from remit.clients.hooks.project import ProjectContext
from remit.clients.transcripts import split_agent
from remit.clients.transcripts.reading import read_transcripts
from remit.contract.kinds import slug
from remit.lazy import lazy_pattern
from remit.merging.adjust import report_of
from remit.reports.formats import check_json
from remit.workspace import git
from remit.workspace.files import WorkTree

#: A larger transcript is not read; claims that only it could support are reported as unchecked.
MAX_TRANSCRIPT_BYTES = 128 * 1024 * 1024
#: The end of a transcript that is searched for the name of the model.
_MODEL_BYTES = 256 * 1024
_MODEL = lazy_pattern(r'"model" ?: ?"([A-Za-z0-9._:@/-]{1,100})"')


def judge(
    text: str,
    context: ProjectContext,
    agent_type: str,
    transcript_path: str,
    attempt: int,
    profile: str | None = None,
) -> ReportJudgement:
    """Judge a report under the profile of its agent, or another. There are receipts if the transcript is readable.

    After its correction, a report is accepted if only its form is wrong: its violations stay listed.
    """
    options = _options(context, agent_type, attempt)
    if profile is not None:
        options = msgspec.structs.replace(options, profile=profile, kind=None, agent=None)
    path = f"{agent_type[:80]}.md"

    def check() -> ReportJudgement:
        transcripts = read_transcripts([transcript_path] if is_readable(transcript_path) else ())
        return judge_report(text, options, context.project, path=path, transcripts=transcripts)

    try:
        judged = before_deadline(check)
    except TooSlow as reason:
        judged = unverified_report(str(reason), options, path=path)
    if attempt > 1 and not judged.is_accepted and judged.breaks_only_form:
        return msgspec.structs.replace(judged, decision="accept")
    return judged


def check_document(judgement: ReportJudgement, context: ProjectContext) -> str:
    """Return the verdicts of a judgement as JSON in the shape `remit.check/1`."""
    return check_json(_decided(judgement), context.project)


def _decided(judgement: ReportJudgement) -> list[Verdict]:
    """Return the verdicts; those of an accepted report are accepted, also if only its form is wrong."""
    if not judgement.is_accepted:
        return list(judgement.verdicts)
    return [msgspec.structs.replace(verdict, verdict="accept") for verdict in judgement.verdicts]


def merge_document(judgement: ReportJudgement, context: ProjectContext, agent_type: str) -> str:
    """Return the report for a merge as JSON: its claims are judged only here."""
    verdicts = [msgspec.structs.replace(verdict, verdict=judgement.decision) for verdict in judgement.verdicts]
    report = report_of(verdicts, slug(agent_type.rpartition(":")[2]), WorkTree(context.project))
    return msgspec.json.encode(report).decode()


def definition_digest(context: ProjectContext, agent_type: str) -> str:
    """Return the digest of an agent's definition when the settings were compiled; empty if it is unknown."""
    digests = context.compiled.get("digests")
    digest = digests.get(agent_type.rpartition(":")[2]) if isinstance(digests, dict) else None
    return digest if isinstance(digest, str) else ""


def commit_of(context: ProjectContext) -> str:
    """Return the commit that the project has checked out; empty without git."""
    return git.head(context.project) or ""


def model_of(transcript_path: str) -> str:
    """Return the model that the last part of a transcript names; empty if it names no model."""
    if not is_readable(transcript_path):
        return ""
    transcript_path, _ = split_agent(transcript_path)
    with open(transcript_path, "rb") as file:
        file.seek(max(0, os.path.getsize(transcript_path) - _MODEL_BYTES))
        models = _MODEL.findall(file.read(_MODEL_BYTES).decode("latin-1"))
    return str(models[-1]) if models else ""


def edited_files(transcript_path: str, project: str) -> list[str]:
    """Return the files that a subagent's transcript shows as edited."""
    if not is_readable(transcript_path):
        return []
    receipts = (receipt for read in read_transcripts([transcript_path]) for receipt in read.receipts)
    edited = {receipt.path for receipt in receipts if receipt.action == "edit" and receipt.path and not receipt.failed}
    return sorted(path.removeprefix(f"{project}/") for path in edited)


def _options(context: ProjectContext, agent_type: str, attempt: int) -> Options:
    stored = context.compiled.get("check")
    chosen = stored if isinstance(stored, dict) else {}
    return Options(
        profile=context.profile_of(agent_type),
        kind=context.kind_of(agent_type) or None,
        agent=agent_type if context.is_under_contract(agent_type) else None,
        attempt=attempt,
        select=tuple(chosen.get("select", ())),
        ignore=tuple(chosen.get("ignore", ())),
        overrides=tuple((rule, reason) for rule, reason in chosen.get("overrides", ())),
    )


def is_readable(path: str) -> bool:
    """Whether it is a regular file of an acceptable size that this process may read."""
    path, _ = split_agent(path)
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(about.st_mode) and about.st_size <= MAX_TRANSCRIPT_BYTES and os.access(path, os.R_OK)
