"""`remit lsp`."""

from __future__ import annotations

import click


@click.command("lsp")
def command() -> int:
    """Verify Markdown in an editor: a language server over standard input and output.

    The editor starts this command. It marks claims that do not hold as you type, shows the cited code, corrects places
    that moved, and goes to the cited line. Only files of the checkout of a document are read. It needs the extra
    remit[lsp].

    \b
    Neovim 0.11 or later:
      vim.lsp.config("remit", {
        cmd = { "remit", "lsp" }, filetypes = { "markdown" }, root_markers = { ".git" },
      })
      vim.lsp.enable("remit")
    \b
    Helix, in languages.toml:
      [language-server.remit]
      command = "remit"
      args = ["lsp"]
      [[language]]
      name = "markdown"
      language-servers = ["remit"]
    \b
    VS Code and other editors: see docs/editor.md.
    """
    from remit.surfaces.lsp.language_server import run_language_server  # late: it needs the extra remit[lsp]

    run_language_server()
    return 0
