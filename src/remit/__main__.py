"""`python -m remit`: the command line of this very install, whatever stands on the PATH."""

from remit.surfaces.cli import main

main()
