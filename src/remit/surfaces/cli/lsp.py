"""`remit lsp`."""

from __future__ import annotations

import click


@click.command("lsp")
def command() -> int:
    """Verify Markdown in an editor: a language server over standard input and output.

    The editor starts this command. It marks claims that do not hold as you type, shows the cited code, corrects places
    that moved, and goes to the cited line. Only files of the checkout of a document are read. It needs the extra
    remit[lsp].

    Every editor with a client of the protocol needs the language "markdown" and the command; docs/editor.md has the
    settings of Neovim 0.8 and of VS Code. For Neovim 0.11 or later, in init.lua:

    \b
      vim.lsp.config("remit", {
        cmd = { "remit", "lsp" }, filetypes = { "markdown" }, root_markers = { ".git" },
      })
      vim.lsp.enable("remit")

    For Helix, in languages.toml:

    \b
      [language-server.remit]
      command = "remit"
      args = ["lsp"]
      [[language]]
      name = "markdown"
      language-servers = ["remit"]

    \b
    Examples:
      remit lsp
    """
    from remit.surfaces.lsp.language_server import run_language_server  # late: it needs the extra remit[lsp]

    run_language_server()
    return 0
