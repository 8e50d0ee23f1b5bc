# Shortcuts for dev.py; `python3 dev.py --help` explains the commands.
.PHONY: run test quick check coverage bench docs mutants lock clean

run test quick check coverage bench docs mutants lock clean:
	python3 dev.py $@
