# A thin front for Meson and scripts/. `make help` lists the targets.

# Set on the command line only: the environment may hold a BUILD of somebody else.
BUILD   = build
SEEDS   = 2000
SEED    =
V       =
SECONDS = 60
KILLS   = 2000
TASKS   = 1000
T       =
NAME    =
N       =
BUSY    =
KEEP    =
ROUNDS  =
SYSTEMS =
DAYS    =
DOCS    =
HOURS   = 1

MAKEFLAGS += --no-print-directory

# A test in another folder than build/ is repeated with the same BUILD=.
again = make $@$(if $(filter-out build,$(BUILD)), BUILD=$(BUILD))

.PHONY: all build bundle cross-arm64 image test test-bundle test-env test-fresh test-repeat test-mcp test-agents test-web test-postgres test-slurm test-service conformance lint format asan bench bench-peers bench-growth soak sim fuzz proof coverage demo example docs install dist deb test-deb clean todo help

all: build

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

build: ## compile into build/ (BUILD=folder for another place)
	@scripts/setup --test --page
	@scripts/build $(BUILD)

# Where a browser cannot be had, setup says so, and the test of the dashboard counts as failed.
test: build ## build and run every test; T=name for one
	@$(if $(if $(T),$(filter web web_firefox,$(T)),web),scripts/setup --web || :)
	@SLUICE_TEST_WEB=required scripts/run-tests --again "$(again)" $(BUILD) $(T)

test-repeat: build ## all tests N=10 times in a row, the last BUSY=3 with every processor kept busy; failures by test
	@scripts/setup --web || :
	@SLUICE_TEST_WEB=required scripts/test-repeat $(BUILD) $(or $(N),10) $(or $(BUSY),3)

test-env: ## all tests in a clone: with an empty /tmp and HOME, another locale, time zone, umask and user; T=name for one
	@scripts/setup --env
	@scripts/test-env $(T)

test-agents: ## the real agents, fetched once from npm, through the daemon; T=name for one
	@scripts/setup --agents
	@scripts/build $(BUILD)
	@scripts/test-agents $(BUILD) $(T)

test-mcp: build ## the MCP server against the conformance suite and the Inspector, from npm; T=scenario@version for one
	@scripts/setup --agents
	@scripts/test-mcp $(BUILD) $(T)

test-web: build ## the dashboard in Chromium and Firefox with a real daemon; BROWSER=one, T=word for some, UPDATE=1 accepts how it looks
	@scripts/setup --web
	@for browser in $(or $(filter chromium firefox,$(BROWSER)),chromium firefox); do \
	 SLUICE_TEST_BROWSER=$$browser SLUICE_TEST_WEB=required scripts/test-web $(BUILD) $(T) || exit 1; done

test-postgres: ## the state in PostgreSQL: a real server, broken connections, kills, the daemon's tests on it; T=name for one
	@scripts/setup --postgres
	@scripts/build $(BUILD)
	@scripts/test-postgres $(BUILD) $(T)

test-slurm: ## runs on Slurm: a real cluster on loopback, its faults, the daemon's tests with their runs there; T=name for one
	@scripts/setup --slurm
	@scripts/build $(BUILD)
	@scripts/test-slurm $(BUILD) $(T)

test-service: ## sluice service with a real systemd --user of its own, as root and as an ordinary user; needs root
	@scripts/setup --service
	@scripts/build $(BUILD)
	@scripts/test-service $(BUILD)

test-fresh: ## make demo and make test on a minimal Debian 12 and 13, as root and as a user; T=trixie for one
	@scripts/setup --fresh
	@scripts/test-fresh $(if $(T),--suite $(T)) $(BUILD)

conformance: build ## run the tests of every promise of the five documents, write docs/internals/conformance.md
	@scripts/conformance $(BUILD)

asan: ## the tests with address, undefined and leak checks; T=name for one
	@scripts/setup --test
	@scripts/build $(BUILD)-asan -Db_sanitize=address,undefined -Db_lundef=false
	@ASAN_OPTIONS=handle_segv=2:detect_leaks=1:detect_stack_use_after_return=1 \
	 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	 scripts/run-tests --again "$(again)" --slower 4 $(BUILD)-asan $(T)

lint: ## format, layers, calls, words, headers, sizes, documents, clang-tidy, cppcheck, the dashboard, the clients
	@scripts/setup --lint
	@scripts/lint $(BUILD)-lint

format: ## rewrite the C files as .clang-format says
	@scripts/setup --lint
	@scripts/check-format --fix

sim: build ## play SEEDS=n random worlds against the invariants; SEED=n for one, V=1 tells all
	@$(BUILD)/tests/world/test_world $(if $(SEED),--seed $(SEED) $(if $(V),--verbose),--seeds $(SEEDS))

fuzz: ## feed random input to each reader, SECONDS=n each
	@scripts/setup --fuzz
	@scripts/fuzz $(BUILD)-fuzz $(SECONDS)

bench: ## measure an optimised build: the core, then the whole daemon (T=name for one part, T=postgres beside other queues)
	@scripts/setup --bench
	@scripts/build $(BUILD)-bench --buildtype=release
	@scripts/bench $(BUILD)-bench $(T)

bench-peers: ## Sluice beside other queues: the same work, interleaved; SECONDS=n each, ROUNDS=n, SYSTEMS=a,b, DOCS=1 writes docs/benchmarks.md
	@scripts/setup --bench
	@scripts/build $(BUILD)-bench --buildtype=release
	@SECONDS_EACH=$(if $(filter command,$(origin SECONDS)),$(SECONDS)) ROUNDS=$(ROUNDS) SYSTEMS=$(SYSTEMS) DOCS=$(DOCS) scripts/bench $(BUILD)-bench peers

bench-growth: ## cost per submit and per run with TASKS=n stored tasks, and a week of 100,000 runs a day; DOCS=1 writes docs/benchmarks.md
	@scripts/setup --bench
	@scripts/build $(BUILD)-bench --buildtype=release
	@TASKS=$(if $(filter command,$(origin TASKS)),$(TASKS)) DAYS=$(DAYS) DOCS=$(DOCS) scripts/bench $(BUILD)-bench growth

soak: ## kill the daemon KILLS=n times under load, while each preset drains TASKS=n, and while work is merged
	@scripts/setup --test
	@scripts/build $(BUILD)
	@SLUICED=$(abspath $(BUILD)/sluiced) SIDE_AGENT=$(abspath $(BUILD)/tests/torture/side_agent) \
	 $(BUILD)/tests/torture/test_kill_daemon $(KILLS) $(SEED)
	@SLUICED=$(abspath $(BUILD)/sluiced) SIDE_AGENT=$(abspath $(BUILD)/tests/torture/side_agent) \
	 LOOP_AGENT=$(abspath $(BUILD)/tests/torture/loop_agent) $(BUILD)/tests/torture/test_presets $(TASKS) $(SEED)
	@SLUICED=$(abspath $(BUILD)/sluiced) SIDE_AGENT=$(abspath $(BUILD)/tests/torture/side_agent) \
	 TREE_AGENT=$(abspath $(BUILD)/tests/torture/tree_agent) $(BUILD)/tests/torture/test_workspaces 300 $(SEED)

proof: build ## run the long tests for HOURS=n, continue an interrupted proof, write docs/internals/proof.md
	@scripts/setup --proof
	@scripts/proof $(BUILD) $(HOURS)

coverage: ## lines and branches that the tests execute in core, rundir and store; fails when it falls, UPDATE=1 accepts it
	@scripts/setup --proof
	@scripts/coverage $(if $(UPDATE),--update) $(BUILD)-coverage

demo: build ## a daemon, a small night of real processes, a kill in the middle; KEEP=1 leaves the dashboard up
	@scripts/demo $(if $(KEEP),--keep) $(BUILD)

example: build ## play one of examples/ to its end: NAME=loopr, conductor-loop, gastown, agency, agent-queue
	@SLUICE=$(BUILD)/sluice examples/run $(or $(NAME),--all)

docs: build ## write the generated documents and pictures again
	@scripts/setup --web
	@scripts/generate-docs $(BUILD)

install: build ## install the programs and their manual pages (DESTDIR, PREFIX)
	@$(if $(PREFIX),meson configure $(BUILD) -Dprefix=$(PREFIX))
	@meson install -C $(BUILD)

dist: ## the source archive of a release, in build-dist
	@scripts/setup --page
	@scripts/dist

deb: ## the Debian package, in build-dist, checked with lintian
	@scripts/setup --deb
	@scripts/deb

bundle: ## the programs with their libraries beside them, for other distributions, in build-dist
	@scripts/setup --deb
	@scripts/bundle

test-bundle: ## the bundle in a minimal Debian of an older release without its libraries; needs root
	@scripts/setup --deb --fresh
	@scripts/test-bundle $(BUILD)

image: ## the root of a container image, in build-dist, run once; needs root
	@scripts/setup --deb --fresh
	@scripts/image

cross-arm64: ## compile for arm64 in a Debian root of its own; needs root
	@scripts/setup --page --fresh
	@scripts/cross-arm64 $(BUILD)

test-deb: ## the package in a minimal Debian: install, upgrade with live runs, downgrade, removal, purge; needs root
	@scripts/setup --deb --fresh
	@scripts/test-deb $(BUILD)

todo: ## debts written down in the code
	@grep -rnE 'TODO\([a-z]+\):' src tests bench scripts || echo "none"

clean: ## remove all build folders
	@rm -rf $(BUILD) build-*
