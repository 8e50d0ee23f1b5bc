"""`remit lsp`: the language server protocol over standard input and output.

Two threads check documents, each with its own open checkout: one answers after each edit, the other checks whole
documents and asks the history. An answer for a text that has changed meanwhile is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import RawIOBase
from pathlib import Path
from typing import Any, TypeVar, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.uris import to_fs_path

import remit as package
from remit.reports.layout import escape_control
from remit.surfaces.lsp.claim_views import (
    MarkedClaim,
    Ranges,
    diagnostics_of,
    hover_text,
    lens_title,
    shown_claims,
)
from remit.surfaces.lsp.live_documents import CheckedText, Checkout, Dates, DocumentText, checkout_of

#: Seconds after an edit until the part around it is checked, and until the whole document is.
EDIT_SECONDS = 0.02
PAUSE_SECONDS = 0.4
#: Seconds after a change of other files until the open documents are checked again.
_FILES_SECONDS = 0.5
#: Larger messages are skipped, and so are longer lines of a head.
_MAX_MESSAGE = 64 * 1024 * 1024
_MAX_HEAD = 4096
_CHUNK = 1024 * 1024
#: Documents are the files of these languages, or with these endings.
_LANGUAGES = frozenset({"markdown", "mdx", "rmd", "quarto"})
_ENDINGS = (".md", ".markdown", ".mdx", ".mdc")
#: The command of a code lens: it shows what the history knows about a claim.
EXPLAIN = "remit.explain"

T = TypeVar("T")


class _Document:
    """An open document and what is known about it."""

    def __init__(self, uri: str, path: str, root: Path) -> None:
        self.uri = uri
        self.path = path
        self.root = root
        self.text = ""
        self.version: int | None = None
        #: The number of the text: it counts the edits.
        self.edition = 0
        self.answer: CheckedText | None = None
        #: The number of the text that the answer is about.
        self.answered = 0
        self.dates = Dates()
        self.timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def snapshot(self) -> DocumentText:
        """The text as it is now."""
        return DocumentText(self.path, self.text)

    def schedule(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        """Call a function after a time, instead of the one that is scheduled under this name."""
        if name in self.timers:
            self.timers[name].cancel()
        self.timers[name] = asyncio.get_running_loop().call_later(seconds, call)

    def stop(self) -> None:
        """Cancel what is scheduled."""
        for timer in self.timers.values():
            timer.cancel()


class _Worker:
    """A thread with its own open checkouts."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._checkouts: dict[Path, Checkout] = {}

    async def ask(self, root: Path, question: Callable[[Checkout], T]) -> T:
        """Return what a checkout answers."""

        def answer() -> T:
            if root not in self._checkouts:
                self._checkouts[root] = Checkout(root)
            return question(self._checkouts[root])

        return await asyncio.get_running_loop().run_in_executor(self._pool, answer)

    def close(self) -> None:
        """End the thread and the processes of its checkouts."""
        self._pool.shutdown(cancel_futures=True)
        for checkout in self._checkouts.values():
            checkout.close()


class _Protocol(LanguageServerProtocol):
    """The protocol, with an answer to a request that cannot be read."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return a message as an object. The client of a request would wait for its answer."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            number = data.get("id")
            if "method" in data and isinstance(number, int | str):
                self._send_response(number, error=error.to_response_error())
            raise


class RemitServer(LanguageServer):
    """The open documents, and when they are checked."""

    def __init__(self) -> None:
        # The whole text of a document is sent: lines in the editor and in Remit cannot drift apart.
        super().__init__(
            "remit",
            package.__version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            protocol_cls=_Protocol,
            converter_factory=default_converter,
        )
        self.documents: dict[str, _Document] = {}
        self._quick, self._thorough = _Worker(), _Worker()
        self._tasks: set[asyncio.Task[None]] = set()
        self._files_timer: asyncio.TimerHandle | None = None

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write one line to the log; a malformed message must not open windows in the editor."""
        sys.stderr.write(f"remit lsp: {type(error).__name__}: {escape_control(str(error))[:300]}\n")

    def open(self, item: types.TextDocumentItem) -> None:
        """Start to check a document, if it is a Markdown file of a checkout."""
        path = to_fs_path(item.uri) if item.uri.startswith("file:") else None
        is_wanted = item.language_id in _LANGUAGES or (path or "").lower().endswith(_ENDINGS)
        if path is None or "\0" in path or not is_wanted:
            return
        folders = [to_fs_path(folder.uri) for folder in self.workspace.folders.values()]
        if self.workspace.root_path:
            folders.append(self.workspace.root_path)
        root = checkout_of(path, [folder for folder in folders if folder])
        if root is not None:
            document = self.documents[item.uri] = _Document(item.uri, path, root)
            self.update(document, item.text, item.version)
            self.check_saved(document)

    def update(self, document: _Document, text: str, version: int | None) -> None:
        """Take a new text of a document and check it."""
        document.text, document.version = text, version
        document.edition += 1
        if document.answer is None:
            self._start(self._check_all(document))
            return
        document.schedule("edit", EDIT_SECONDS, lambda: self._start(self._check_edited(document)))
        document.schedule("pause", PAUSE_SECONDS, lambda: self._start(self._check_all(document)))

    def check_saved(self, document: _Document) -> None:
        """Ask the history about a document."""
        self._start(self._check_saved(document))

    def close(self, uri: str) -> None:
        """Forget a document, and remove its marks."""
        document = self.documents.pop(uri, None)
        if document is not None:
            document.stop()
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def check_files(self) -> None:
        """Check all documents again, because other files have changed."""
        if self._files_timer is not None:
            self._files_timer.cancel()
        loop = asyncio.get_running_loop()
        self._files_timer = loop.call_later(_FILES_SECONDS, self._check_open)

    def _check_open(self) -> None:
        for document in self.documents.values():
            document.schedule("pause", 0, lambda document=document: self._start(self._check_all(document)))  # type: ignore[misc,unused-ignore]
            self.check_saved(document)

    async def corrections(self, document: _Document, wanted: types.Range) -> list[types.CodeAction]:
        """Return the corrections of some lines: one for each line."""
        snapshot, version = document.snapshot, document.version
        first, last = wanted.start.line + 1, wanted.end.line + 1
        edits = await self._quick.ask(
            document.root, lambda checkout: checkout.corrections(snapshot, first, last, document.dates)
        )
        ranges = Ranges(snapshot.lines, self.encoding)
        about = types.OptionalVersionedTextDocumentIdentifier(document.uri, version)
        actions = []
        for edit in edits:
            change = types.TextEdit(ranges.whole_line(edit.line - 1), edit.new)
            actions.append(
                types.CodeAction(
                    f"Correct to {escape_control(', '.join(edit.targets))[:200]}",
                    kind=types.CodeActionKind.QuickFix,
                    is_preferred=True,
                    edit=types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(about, [change])])
                    if self._has_versioned_edits
                    else types.WorkspaceEdit(changes={document.uri: [change]}),
                )
            )
        return actions

    async def hover(self, document: _Document, position: types.Position) -> types.Hover | None:
        """Return the outcome of the claim at a position, and the code that it cites."""
        marked = self.claim_at(document, position)
        if marked is None or document.answer is None:
            return None
        excerpt = await self._quick.ask(document.root, lambda checkout: checkout.excerpt(marked.checked, before=1))
        content = types.MarkupContent(types.MarkupKind.Markdown, hover_text(marked, excerpt))
        return types.Hover(content, Ranges(document.answer.lines, self.encoding).range_of(marked))

    async def definition(self, document: _Document, position: types.Position) -> types.Location | None:
        """Return the cited line of the claim at a position, or its place today."""
        marked = self.claim_at(document, position)
        place = (
            await self._quick.ask(document.root, lambda checkout: checkout.place(marked.checked)) if marked else None
        )
        if place is None:
            return None
        start = types.Position(place[1] - 1, 0)
        return types.Location(place[0].as_uri(), types.Range(start, start))

    def lenses(self, document: _Document) -> list[types.CodeLens]:
        """Return a line above each outdated claim."""
        if document.answer is None:
            return []
        ranges = Ranges(document.answer.lines, self.encoding)
        return [
            types.CodeLens(
                ranges.range_of(marked),
                types.Command(title, EXPLAIN, arguments=[document.uri, marked.first, marked.start]),
            )
            for marked in shown_claims(document.answer)
            if (title := lens_title(marked.checked))
        ]

    def claim_at(self, document: _Document, position: types.Position) -> MarkedClaim | None:
        """Return the claim at a position."""
        if document.answer is None:
            return None
        character = Ranges(document.answer.lines, self.encoding).character(position)
        claims = [marked for marked in shown_claims(document.answer) if marked.has(position.line, character)]
        # An accusation comes first: the place and the name in it may have the same words.
        return min(claims, key=lambda marked: marked.entry.reliability is None, default=None)

    @property
    def encoding(self) -> str:
        """The units in which the editor counts characters."""
        return str(getattr(self.workspace.position_encoding, "value", self.workspace.position_encoding))

    @property
    def _has_versioned_edits(self) -> bool:
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        return bool(edit is not None and edit.document_changes)

    def shutdown(self) -> None:
        """End the threads."""
        super().shutdown()  # type: ignore[no-untyped-call,unused-ignore]
        self._quick.close()
        self._thorough.close()

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.report_server_error(error, None)

    async def _check_edited(self, document: _Document) -> None:
        edition, before, snapshot = document.edition, document.answer, document.snapshot
        if before is not None:
            answer = await self._quick.ask(
                document.root,
                lambda checkout: checkout.check_edited(snapshot, before) if document.edition == edition else None,
            )
            self._take(document, edition, answer)

    async def _check_all(self, document: _Document) -> None:
        edition, snapshot = document.edition, document.snapshot
        answer = await self._thorough.ask(
            document.root, lambda checkout: checkout.check(snapshot) if document.edition == edition else None
        )
        self._take(document, edition, answer)

    async def _check_saved(self, document: _Document) -> None:
        edition, snapshot = document.edition, document.snapshot
        answer = await self._thorough.ask(
            document.root, lambda checkout: checkout.check_saved(snapshot) if document.edition == edition else None
        )
        if answer is not None:
            document.dates = Dates(answer.checked)
            self._take(document, edition, answer)
            if edition < document.edition == document.answered and document.answer is not None:
                self._take(document, document.edition, document.answer)
            self._refresh_lenses()

    def _take(self, document: _Document, edition: int, answer: CheckedText | None) -> None:
        """Publish an answer, if the document is still open and has still the same text."""
        if answer is None or document.edition != edition or self.documents.get(document.uri) is not document:
            return
        document.answered = edition
        document.answer = answer._replace(checked=document.dates.applied(answer.checked))
        diagnostics = diagnostics_of(document.answer, document.root, self.encoding)
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(document.uri, diagnostics, document.version)
        )

    def _refresh_lenses(self) -> None:
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)


class _BoundedInput(RawIOBase):
    """Standard input with a limit: a message that is larger is read as one that means nothing."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line of a head."""
        return cast("bytes", self._stream.readline(_MAX_HEAD))

    def read(self, size: int = -1) -> bytes:
        """Read a message."""
        if size <= _MAX_MESSAGE:
            return cast("bytes", self._stream.read(size))
        while size > 0 and (part := self._stream.read(min(size, _CHUNK))):
            size -= len(part)
        return b"null"


def create_server() -> RemitServer:
    """Return the server with what it answers."""
    server = RemitServer()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(params: types.DidOpenTextDocumentParams) -> None:
        server.close(params.text_document.uri)
        server.open(params.text_document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        whole = [change for change in params.content_changes if not hasattr(change, "range")]
        if document is not None and whole:
            server.update(document, whole[-1].text, params.text_document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(params: types.DidSaveTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            server.check_saved(document)
        else:
            server.check_files()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_files(params: types.DidChangeWatchedFilesParams) -> None:
        server.check_files()

    _add_requests(server)
    return server


def _add_requests(server: RemitServer) -> None:
    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace is not None else None
        if watched is None or not watched.dynamic_registration:
            return
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")])
        registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await server.client_register_capability_async(types.RegistrationParams([registration]))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        document = server.documents.get(params.text_document.uri)
        return await server.hover(document, params.position) if document is not None else None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> types.Location | None:
        document = server.documents.get(params.text_document.uri)
        return await server.definition(document, params.position) if document is not None else None

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.documents.get(params.text_document.uri)
        only = params.context.only
        if document is None or (only is not None and types.CodeActionKind.QuickFix not in only):
            return []
        return await server.corrections(document, params.range)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        document = server.documents.get(params.text_document.uri)
        return server.lenses(document) if document is not None else []

    @server.command(EXPLAIN)
    async def explain(uri: str, line: int, character: int) -> None:
        document = server.documents.get(uri)
        marked = server.claim_at(document, types.Position(line, character)) if document is not None else None
        if marked is not None:
            text = escape_control(f"{marked.entry.text}: {marked.entry.why}")
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))


def run_language_server() -> None:
    """Serve an editor until it closes the connection. What is printed by accident goes to the log."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # `report_server_error` writes one line for each
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    create_server().start_io(cast("Any", _BoundedInput(source)), target)
