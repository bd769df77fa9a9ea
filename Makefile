# Builds batmap.so (the engine under kernels/ and the extension under extension/) and batmap--VERSION.sql with PGXS,
# and starts the project's scripts. CMakeLists.txt builds the engine alone, for unit tests, fuzzers and benchmarks.
#
#   make                 build
#   make install         into the server of PG_CONFIG; needs the right to write there
#   make installcheck    regression, isolation and TAP tests against an installed, running server; not as root
#   make clean
#
#   make demo            everything from an empty Debian or Ubuntu machine to a mined data set, in a private server, and a page of pictures
#   make check           does it work here? In a private server; check-SUITE for one (unit house regress isolation tap client demo)
#   make check-sanitizers   the unit tests under sanitizers
#   make check-reference    every method and every CPU kernel over the reference data that BATMAP_TEST_DATA names
#   make cuda       the module that drives NVIDIA GPUs, build/cuda/batmap_cuda.so: needs nvcc and CMake, no GPU
#   make install-cuda    into the server's folder of libraries
#   make check-gpu  all of it against a GPU (test/gpu/README.md)
#   make check-hostile   sqlsmith, damaged bytes and injected faults for HOSTILE_SECONDS (test/hostile)
#   make bench           the extension against plain SQL and other engines; bench/run says what else
#   make format          lays out the C++ sources
#
# The version is written in batmap.control and nowhere else.

PG_CONFIG ?= pg_config

# Plain `make` uses all cores; a -j of the caller wins.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

# These work before PostgreSQL is installed, and PGXS has a `check` of its own: they are kept apart from it.
script_goals := $(filter demo check check-% bench format cuda,$(MAKECMDGOALS))

ifneq ($(script_goals),)

.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)

demo:
	@demo/run

check:
	@test/run

check-gpu:
	@test/gpu/run

check-hostile:
	@test/hostile/run

$(filter-out check-gpu check-hostile,$(filter check-%,$(script_goals))): check-%:
	@test/run $*

bench:
	@bench/run

cuda:
	@cmake --preset cuda -Wno-dev $(if $(CUDA_ARCHITECTURES),-DBATMAP_CUDA_ARCHITECTURES="$(CUDA_ARCHITECTURES)")
	@cmake --build --preset cuda --target batmap_cuda

format:
	@test/checks/format.sh --fix

other_goals := $(filter-out $(script_goals),$(MAKECMDGOALS))
ifneq ($(other_goals),)
$(other_goals):
	@+$(MAKE) --no-print-directory $@
endif

else # the build

ifeq ($(shell command -v $(PG_CONFIG)),)
$(error $(PG_CONFIG) is not there: `test/install-deps build` installs what the build needs, or set PG_CONFIG)
endif
server_headers := $(shell $(PG_CONFIG) --includedir-server)

EXTENSION := batmap
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" batmap.control)

# Source lists: one path a line, from the root of the repository; '#' starts a remark.
# With ENGINE, a static library of it (build/dev/libbatmap_engine.a), the engine is linked instead of compiled.
lists := $(if $(ENGINE),,kernels/sources.list) extension/sources.list
sources := $(shell sed 's/\#.*//' $(lists))

MODULE_big := batmap
OBJS := $(sources:%.cpp=build/pgxs/%.o)
DATA := $(wildcard sql/batmap--*--*.sql)
DATA_built := build/batmap--$(EXTVERSION).sql

# The server's headers are system headers: their warnings are not ours. NDEBUG: an assertion would take the server down
# with it; the unit tests run with assertions.
PG_CPPFLAGS := -Ikernels -I. -isystem $(server_headers) \
	-DBATMAP_VERSION='"$(EXTVERSION)"' $(if $(ASSERTIONS),,-DNDEBUG)
PG_CXXFLAGS := -std=c++20 -Wall -Wextra $(if $(WERROR),-Werror) -fvisibility=hidden -pthread -MMD -MP
# The linker map keeps template code of the C++ library out of the dynamic symbols, which hidden visibility does not.
SHLIB_LINK := $(ENGINE) -lstdc++ -pthread -Wl,--version-script=build/exports.map

# Bitcode serves inlining of C functions into JIT code; ours do their work in loops of their own.
override with_llvm := no

REGRESS := $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS := --inputdir=test --outputdir=build/installcheck --load-extension=batmap --encoding=UTF8
ISOLATION := $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/*.spec)))
ISOLATION_OPTS := --inputdir=test --outputdir=build/installcheck-isolation --load-extension=batmap --encoding=UTF8
PROVE_TESTS := $(sort $(wildcard test/t/*.pl))
TAP_TESTS := $(if $(PROVE_TESTS),1)
REGRESS_PREP := installcheck-folders

# libpq programs of test/client.
clients := $(patsubst test/client/%.cpp,build/client/%,$(wildcard test/client/*.cpp))

EXTRA_CLEAN := build

all:

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(OBJS): build/pgxs/%.o: %.cpp Makefile batmap.control | server-headers
	@mkdir -p $(@D)
	$(COMPILE.cc) -o $@ $<

# Packages of clients bring the makefiles of PGXS without the headers.
.PHONY: server-headers
server-headers:
	@test -e $(server_headers)/postgres.h || { \
		echo '$(PG_CONFIG) knows no headers of a server: `test/install-deps build` installs what the build needs, or set PG_CONFIG' >&2; exit 1; }

-include $(OBJS:.o=.d)

$(DATA_built): sql/batmap.sql batmap.control
	@mkdir -p $(@D)
	cp $< $@

# A line added to or taken from a list links again.
$(shlib): build/exports.map $(lists) $(ENGINE)

build/exports.map: Makefile
	@mkdir -p $(@D)
	@echo '{ global: Pg_magic_func; _PG_init; batmap_*; pg_finfo_batmap_*; local: *; };' > $@

.PHONY: install-cuda
install-cuda:
	@test -e build/cuda/batmap_cuda.so || { echo "build/cuda/batmap_cuda.so is not there: make cuda" >&2; exit 1; }
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) build/cuda/batmap_cuda.so '$(DESTDIR)$(pkglibdir)/'

.PHONY: clients neighbour installcheck-folders
clients: $(clients)

$(clients): build/client/%: test/client/%.cpp Makefile
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O1 -g -Wall -Wextra -pthread -MMD -MP -I$(shell $(PG_CONFIG) --includedir) -o $@ $< \
	    -L$(shell $(PG_CONFIG) --libdir) -lpq

-include $(clients:=.d)

# A module for test/t: another extension, as others see the plans of this one. `make install` leaves it where it is.
neighbour: build/neighbour/neighbour.so

build/neighbour/neighbour.o: test/neighbour/neighbour.cpp Makefile | server-headers
	@mkdir -p $(@D)
	$(COMPILE.cc) -o $@ $<

build/neighbour/neighbour.so: build/neighbour/neighbour.o
	$(CXX) -shared -o $@ $< -lstdc++

-include build/neighbour/neighbour.d

installcheck-folders:
	@mkdir -p build/installcheck build/installcheck-isolation

endif
