.PHONY: run test check bench docs

run test check bench docs:
	python3 dev.py $@
