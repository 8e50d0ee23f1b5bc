"""`python -m remit`: run the command line of this installation, independent of the PATH."""

from remit.surfaces.cli import main

main()
