"""Edits of a specification, each with its kind: F formatting, T typo, M metadata, or - for one that is not trivial."""

from __future__ import annotations

DOCUMENT = """# Orders

Version: 1.0.0
Last updated: 2025-01-01

The service recieves orders (optional) and should answer within 30 seconds.
- first item
- second item
* **bold** and `code`

| Name | Value |
|---|---|
| Retries | 3 |

```yaml
timeout: 30
  name: recieve
```

The user must not see seperate errors. It may retry.
"""

#: What is replaced, by what, and the kind.
TABLE: list[tuple[str, str, str]] = [
    # White space.
    ("# Orders\n", "# Orders  \n", "F"),
    ("orders (optional)", "orders  (optional)", "F"),
    ("- first item", "  - first item", "F"),
    ("- first item", "-  first item", "F"),
    ("# Orders\n\n", "# Orders\n", "F"),
    ("# Orders\n\n", "# Orders\n\n\n", "F"),
    ("\n\nThe service", "\nThe service", "F"),
    ("It may retry.\n", "It may retry.", "F"),
    ("It may retry.\n", "It may retry.\n\n\n", "F"),
    ("errors. It", "errors.  It", "F"),
    ("errors. It", "errors.\nIt", "F"),
    ("timeout: 30\n", "timeout: 30  \n", "F"),
    ("| Retries | 3 |", "| Retries |  3  |", "F"),
    ("|---|---|", "| --- | --- |", "F"),
    ("|---|---|", "|:---|---:|", "F"),
    # Marks.
    ("- first item", "* first item", "F"),
    ("- first item\n- second item", "* first item\n* second item", "F"),
    ("# Orders", "## Orders", "F"),
    ("# Orders", "#  Orders #", "F"),
    ("**bold**", "bold", "F"),
    ("**bold**", "*bold*", "F"),
    ("**bold**", "__bold__", "-"),
    ("**bold**", "_bold_", "F"),
    ("`code`", "code", "F"),
    ("`code`", "**code**", "F"),
    ("Retries", "**Retries**", "F"),
    ("Retries", "`Retries`", "F"),
    ("30 seconds.", "**30 seconds.**", "F"),
    ("(optional)", "*(optional)*", "F"),
    ("The user must", "> The user must", "F"),
    ("* **bold** and", "- **bold** and", "F"),
    # One misspelt word.
    ("recieves orders", "receives orders", "T"),
    ("seperate", "separate", "T"),
    ("seperate errors", "separate  errors", "-"),
    # A version or a date on a metadata line.
    ("Version: 1.0.0", "Version: 1.0.1", "M"),
    ("Version: 1.0.0", "Version: 2.0.0-rc.1", "M"),
    ("Version: 1.0.0", "Version: v1.1.0", "M"),
    ("2025-01-01", "2025-01-31", "M"),
    ("Version: 1.0.0\nLast updated: 2025-01-01", "Version: 1.0.1\nLast updated: 2025-01-31", "M"),
    ("Version: 1.0.0", "Version: 1.0", "-"),
    ("Version: 1.0.0", "Version: 2025-01-01", "-"),
    ("Version: 1.0.0", "Version: 1.0.1 or later", "-"),
    ("Version: 1.0.0", "Revision: 1.0.0", "-"),
    ("2025-01-01", "2025-13-01", "-"),
    ("2025-01-01", "2025-01-32", "-"),
    ("2025-01-01", "soon", "-"),
    # Numbers.
    ("30 seconds", "60 seconds", "-"),
    ("30 seconds", "30.5 seconds", "-"),
    ("30 seconds", "3 seconds", "-"),
    ("30 seconds", "thirty seconds", "-"),
    ("timeout: 30", "timeout: 60", "-"),
    ("| Retries | 3 |", "| Retries | 5 |", "-"),
    ("within 30 seconds", "within seconds", "-"),
    # Strength.
    ("should answer", "must answer", "-"),
    ("should answer", "shall answer", "-"),
    ("should answer", "may answer", "-"),
    ("should answer", "answer", "-"),
    ("should answer", "shoud answer", "-"),
    ("must not see", "must see", "-"),
    ("must not see", "mustn't see", "-"),
    ("must not see", "must now see", "-"),
    ("It may retry", "It can retry", "-"),
    ("It may retry", "It must retry", "-"),
    ("It may retry", "It may not retry", "-"),
    (" (optional)", "", "-"),
    ("(optional)", "(required)", "-"),
    ("(optional)", "optional", "-"),
    # Lists.
    ("- second item\n", "- second item\n- third item\n", "-"),
    ("- second item\n", "", "-"),
    ("- first item", "first item", "-"),
    ("The user must", "- The user must", "-"),
    ("- first item\n- second item", "- first item second item", "-"),
    ("- first item", "1. first item", "-"),
    # Words.
    ("first item", "first entry", "-"),
    ("errors", "failures", "-"),
    ("errors", "error", "-"),
    ("The user", "The admin", "-"),
    ("The user", "A user", "-"),
    ("answer", "anwser", "-"),
    ("answer", "respond", "-"),
    ("orders", "ordres", "-"),
    ("recieves", "recovers", "-"),
    ("recieves", "gets", "-"),
    ("recieves orders", "receives order", "-"),
    ("seperate errors", "separate failures", "-"),
    ("Retries", "Retry", "-"),
    ("Orders", "orders", "-"),
    ("The service", "The  quick service", "-"),
    ("errors.", "errors!", "-"),
    ("errors.", "errors", "-"),
    ("and should", "or should", "-"),
    ("within 30", "in 30", "-"),
    # Code and structure.
    ("  name: recieve", "name: recieve", "-"),
    ("  name: recieve", "  name: receive", "-"),
    ("```yaml", "```json", "-"),
    ("```yaml\n", "", "-"),
    ("|---|---|\n", "", "-"),
    ("| Retries | 3 |\n", "", "-"),
    ("| Retries | 3 |", "| Retries | 3 | x |", "-"),
    ("**bold** and", "~~bold~~ and", "-"),
    ("`code`", "[code](code)", "-"),
    ("# Orders\n", "", "-"),
    ("# Orders", "Orders are", "-"),
    # Too much.
    (
        "# Orders\n\nVersion: 1.0.0\nLast updated: 2025-01-01",
        "# Orders \n\nVersion: 1.0.1\nLast updated: 2025-01-02",
        "-",
    ),
    ("- first item\n- second item\n* **bold**", "* first item\n* second item\n- **bold**", "-"),
    ("recieves orders (optional) and should answer within 30 seconds.", "", "-"),
    ("The user", "The user\n\n\n", "-"),
]

#: Whole texts: before, after, the kind.
PAIRS: list[tuple[str, str, str]] = [
    ("", "", "F"),
    ("a", "", "-"),
    ("", "a new line", "-"),
    ("a\r\nb\r\n", "a\nb\n", "F"),
    ("now here", "nowhere", "-"),
    ("teh end", "the end", "T"),
    ("Teh end", "The end", "T"),
    ("the bakend", "the backend", "T"),
    ("the backend", "the backed", "-"),
    ("colour", "color", "-"),
    ("color", "colour", "-"),
    ("the `recieve` call", "the `receive` call", "-"),
    ("recieve_all", "receive_all", "-"),
    ("src/recieve.py", "src/receive.py", "-"),
    ("recieve()", "receive()", "-"),
    ("recieve.mail works", "receive.mail works", "-"),
    ("mail.recieve works", "mail.receive works", "-"),
    ("We recieve. Then go", "We receive. Then go", "T"),
    ("---\na: b\n---\n  text", "---\na: b\n---\ntext", "F"),
    ("--recieve", "--receive", "-"),
    ("recieveMail works", "receiveMail works", "-"),
    ("user's adress", "user's address", "T"),
    ("well-knwon name", "well-known name", "T"),
    ("we nto go", "we not go", "-"),
    ("we cant go", "we can't go", "-"),
    ("max_size", "maxsize", "-"),
    ("_private field", "private field", "-"),
    ("__init__ is", "init is", "-"),
    ("*.md files", ".md files", "-"),
    ("2 * 3", "2 3", "-"),
    ("a*b*c", "abc", "-"),
    ("**broken bold", "**broken bold**", "F"),
    ("#Title", "# Title", "F"),
    ("#12 is open", "12 is open", "-"),
    ("- [ ] open", "- [x] open", "-"),
    ("1. one", "2. one", "-"),
    ("**Version**: 1.0.0", "**Version**: 1.0.1", "M"),
    ("- **Date:** 2025-01-01", "- **Date:** 2025-02-01", "M"),
    ("| Version | 1.0.0 |", "| Version | 1.1.0 |", "M"),
    ('version = "1.0.0"', 'version = "1.0.1"', "M"),
    ("<!-- version: 1.0.0 -->", "<!-- version: 1.0.1 -->", "M"),
    ("---\nversion: 1.0.0\n---\ntext", "---\nversion: 1.0.1\n---\ntext", "M"),
    ("---\na:\n  b: c\n---\ntext", "---\na:\nb: c\n---\ntext", "-"),
    ("API version: 1.0.0", "API version: 1.0.1", "-"),
    ("needs node 1.0.0", "needs node 1.0.1", "-"),
    ("timeout: 1.0.0", "timeout: 1.0.1", "-"),
    ("Deadline: 2025-01-01", "Deadline: 2025-02-01", "-"),
    ("```\nversion: 1.0.0\n```", "```\nversion: 1.0.1\n```", "-"),
    ("日本語 です", "日本語  です", "F"),
    ("日本語です", "日本語だ", "-"),
]
