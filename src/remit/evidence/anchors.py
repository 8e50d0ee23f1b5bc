"""Anchors of Markdown files: read links such as `guide.md#setup` and `#setup`, and find the headings that they name.

An anchor is a claim about a name, `#setup`, in the file of the link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from posixpath import dirname
from urllib.parse import unquote

from remit.contract.outline import Head, read_outline, unreadable_reason
from remit.evidence.document import Segment
from remit.evidence.model import Claim, NameFacts
from remit.lazy import lazy_pattern
from remit.workspace.paths import normalize_path

#: A link whose target has an anchor; the label is not needed.
_LINK = lazy_pattern(r"\]\(\s*<?([^()\s<>#?:]{0,400})#([^()\s<>\"']{1,200})>?(?:\s+[\"'][^\"'\n]*[\"'])?\s*\)")
_ENDINGS = (".md", ".markdown")
#: Anchors that no heading makes: lines, text fragments and templates.
_NOT_HEADINGS = lazy_pattern(r"L\d|:~:|[{$%]\{|/|!")
_HEADING = lazy_pattern(r"^[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)*#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_ATTRIBUTE = lazy_pattern(r"""\b(?:id|name)\s*=\s*["']?([^"'\s<>]{1,200})""")
_OWN_ID = lazy_pattern(r"\{:?[^{}\n]{0,80}?#([\w.:-]{1,200})[^{}\n]{0,80}\}\s*$")
_LABEL = lazy_pattern(r"!?\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\])?")
#: Code in a heading, and its signs that would be taken for a tag.
_CODE = lazy_pattern(r"`[^`\n]{1,300}`")
_ANGLES = lazy_pattern(r"[<>]")
_TAG = lazy_pattern(r"</?[A-Za-z][^<>\n]{0,300}>")
#: What a slug leaves out: all but letters, digits, hyphens, spaces and underscores, in any script.
_SIGNS = lazy_pattern(r"[^\w\- ]")
_DASHES = lazy_pattern(r"-{2,}")
#: What the generators of sites replace by a hyphen.
_BETWEEN = lazy_pattern(r"[\W_]+")
#: A file that includes others has headings that are not in it.
_INCLUDES = lazy_pattern(
    r"--8<--|^::: \w+[._]\w|\{\{?\s*#?include|^\s*(?:import|export)\s|\{%|\binclude::|:::\s*\{include|<[A-Z]\w+",
    re.MULTILINE,
)
_MAX_TEXT = 2_000_000
_ALWAYS = frozenset(("top", ""))


def anchor_claims(segment: Segment) -> Iterator[Claim]:
    """Yield the anchors that the links of a segment name."""
    if "#" not in segment.text or "](" not in segment.text:
        return
    for link in _LINK.finditer(segment.text):
        path, anchor = unquote(link[1], errors="replace"), link[2]
        if segment.text.count("`", 0, link.start()) % 2:
            continue  # an example
        if (path and not path.lower().endswith(_ENDINGS)) or _NOT_HEADINGS.match(anchor):
            continue
        yield Claim(
            kind="name",
            text=f"{path}#{anchor}",
            at=segment.line,
            segment=segment,
            path=path,
            name=f"#{anchor}",
            notes=frozenset(("link",)),
            start=link.start(1),
            end=link.end(2),
        )


def is_anchor(claim: Claim) -> bool:
    """Return whether a claim is about an anchor."""
    return claim.kind == "name" and claim.name.startswith("#")


def target_of(claim: Claim, document: str, root: str) -> str | None:
    """Return the path from the root of the file that an anchor names; empty for the document itself; None: outside."""
    if not claim.path:
        return ""
    if claim.path.startswith("/"):
        return normalize_path(claim.path.lstrip("/"), root)
    folder = dirname(document)
    return normalize_path(f"{folder}/{claim.path}" if folder else claim.path, root)


def anchor_facts(claim: Claim, text: str) -> NameFacts | None:
    """Return whether a Markdown text has an anchor; None if it cannot be known."""
    wanted = unquote(claim.name[1:], errors="replace").lower().removeprefix("user-content-")
    known = None if wanted in _ALWAYS or len(text) > _MAX_TEXT else _joined_anchors(text)
    if known is None:
        return None
    if _joined(wanted) in known:
        return NameFacts(is_near=True, is_anywhere=True)
    return None if _INCLUDES.search(text) else NameFacts(is_near=False, is_anywhere=False)


@lru_cache(maxsize=64)
def _joined_anchors(text: str) -> frozenset[str] | None:
    """Return the anchors of a text as programs make them that join hyphens; None if it is too expensive to read."""
    return None if unreadable_reason(text) is not None else frozenset(map(_joined, anchors_of(text)))


def _joined(anchor: str) -> str:
    """Return an anchor as other programs than GitHub make it: they join hyphens and cut them at the ends."""
    return _DASHES.sub("-", anchor).strip("-")


def anchors_of(text: str) -> frozenset[str]:
    """Return the anchors of a Markdown text, as GitHub and generators of sites make them, and those that it sets."""
    headings = [node.text for node in read_outline(text) if isinstance(node, Head)]
    counts: dict[str, int] = {}
    anchors: set[str] = set()
    for heading in headings:
        slug = slug_of(heading)
        number = counts.get(slug, 0)
        counts[slug] = number + 1
        anchors.add(f"{slug}-{number}" if number else slug)
    # Headings in lists and quotes, and in code: a heading more does no harm.
    for match in _HEADING.finditer(text):
        anchors |= {slug_of(match[1]), _BETWEEN.sub("-", _plain(match[1]))}
        if explicit_id := _OWN_ID.search(match[1]):
            anchors.add(explicit_id[1].lower())
    anchors.update(attribute[1].lower().removeprefix("user-content-") for attribute in _ATTRIBUTE.finditer(text))
    return frozenset(anchors)


def slug_of(heading: str) -> str:
    """Return the anchor of a heading as GitHub makes it."""
    return _SIGNS.sub("", _plain(heading)).replace(" ", "-")


def _plain(heading: str) -> str:
    shown = _CODE.sub(lambda code: _ANGLES.sub("", code[0]), heading)  # in code, `<name>` is not a tag
    plain = _TAG.sub("", _LABEL.sub(r"\1", _OWN_ID.sub("", shown)))
    return plain.replace("`", "").replace("*", "").strip().lower()
