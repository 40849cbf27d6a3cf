# make demo   environment, release 0.5.9, and the story the project began with
# make test   environment and the tests
# make test-live   the tests on real SGLang servers
# make lint fuzz bench wheel-test clean
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
MODELS = tests/conformance/models
# A process of the tests takes up to 2 GB.
WORKERS ?= 2
LIVE ?= live or live_all

.PHONY: demo test test-live lint fuzz bench wheel-test clean
.DELETE_ON_ERROR:

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

# Both stamps hang on setup.cfg: changed requirements are installed at the next call.
$(VENV)/.installed: $(VENV)/.made setup.cfg pyproject.toml
	$(PIP) install --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.made setup.cfg pyproject.toml
	$(PIP) install --editable '.[test,dev]'
	touch $@ $(VENV)/.installed

# Someone believes that eagle_worker_v2.py runs here.
demo: $(VENV)/.installed
	$(BIN)/pathtrace check --sglang 0.5.9 \
	  --model-config $(MODELS)/llama/config.json --draft-config $(MODELS)/llama-eagle3/config.json \
	  --assume sm=90 --assume gpus=8 --assume gpu_memory_mib=81559 -- \
	  python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct \
	  --speculative-algorithm EAGLE3 --speculative-draft-model-path yuhuili/EAGLE3-LLaMA3.1-Instruct-8B \
	  --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4

test: $(VENV)/.installed-dev
	$(BIN)/pytest -m "not slow" -n $(WORKERS) --dist worksteal $(ARGS)

# Servers of several releases on the CPU, with a torch of their own in the cache folder. LIVE=live runs the few of CI.
test-live: $(VENV)/.installed-dev
	$(BIN)/pytest -m "$(LIVE)" tests/live $(ARGS)

fuzz: $(VENV)/.installed-dev
	$(BIN)/pytest -m fuzz --hypothesis-profile=fuzz $(ARGS)

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/run.py $(ARGS)

# mypy finds the package through a folder that holds a link named pathtrace; the link lies in the
# environment, so that no tool which walks the repository walks into itself.
lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	mkdir -p $(VENV)/link && ln -sfn "$(CURDIR)" $(VENV)/link/pathtrace
	MYPYPATH=$(VENV)/link $(BIN)/mypy -p pathtrace
	$(BIN)/lint-imports --no-cache

wheel-test: $(VENV)/.installed-dev
	$(BIN)/pytest -m slow tests/packaging $(ARGS)

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
