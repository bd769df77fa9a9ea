# Builds batmap.so (the engine under kernels/ and the extension under extension/) and batmap--VERSION.sql with PGXS,
# and starts the project's scripts. CMakeLists.txt builds the engine alone, for unit tests, fuzzers and benchmarks.
#
#   make                 build
#   make install         into the server of PG_CONFIG; needs the right to write there. DEBUG_SYMBOLS=1: with debug information
#   make installcheck    regression, isolation and TAP tests against an installed, running server; not as root
#   make clean
#   make help            this list
#
#   make demo            everything from an empty Debian or Ubuntu machine to a mined data set, in a private server, and a page of pictures
#   make check           does it work here? All suites in a private server
#   make check-SUITE     one suite: unit house regress isolation tap client demo python; asan, tsan, arm64
#   make check-sanitizers   the unit tests under sanitizers
#   make check-reference    in full what `make check` samples, and every method and every CPU kernel over the reference data
#                           that BATMAP_TEST_DATA names
#   make cuda            the module that drives NVIDIA GPUs, build/cuda/batmap_cuda.so: needs nvcc and CMake, no GPU
#   make install-cuda    into the server's folder of libraries
#   make check-gpu       the GPU tests (test/gpu/README.md)
#   make check-hostile   sqlsmith, damaged bytes and injected faults for HOSTILE_SECONDS (test/hostile)
#   make bench           the extension against plain SQL and other engines; bench/run says what else
#   make format          lays out the C++ sources
#   make deb             the Debian package, built and tried in clean systems of this machine's release (test/packages); needs root
#   make rpm             the RPM package, by rpmbuild (packaging/rpm)
#   make freeze          freezes the SQL objects of this version, and begins the next one (packaging/freeze)
#
# Only batmap.control contains the version.

PG_CONFIG ?= pg_config

# Plain `make` uses all cores; a -j of the caller takes precedence.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

# These targets work before PostgreSQL is installed. PGXS has a `check` target of its own, so they are kept
# apart from it.
script_goals := $(filter help demo check check-% bench format cuda deb rpm freeze,$(MAKECMDGOALS))

ifneq ($(script_goals),)

.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)

help:
	@sed -n 's/^#   make/make/p; s/^#    *\(that BATMAP\)/                     \1/p' Makefile

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

deb:
	@test/packages --here

rpm:
	@packaging/rpm/build

freeze:
	@packaging/freeze

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

# Source lists: one path per line, relative to the root of the repository; '#' starts a comment.
# With ENGINE, a static library of it (build/dev/libbatmap_engine.a), the engine is linked instead of compiled.
lists := $(if $(ENGINE),,kernels/sources.list) extension/sources.list
sources := $(shell sed 's/\#.*//' $(lists))

# QUICK_BUILD is for tests: most of the time of compiling the extension goes to the headers of the server and the C++ library. So
# they are precompiled, the files of some rooms are compiled as one, and debug information suffices for backtraces only. (In
# the other rooms, files have helpers of the same names.)
# What is installed is compiled file by file, so each file must still include what it needs.
rooms := $(if $(QUICK_BUILD),server input types)
alone := $(filter-out $(rooms:%=extension/%/%),$(sources))

MODULE_big := batmap
OBJS := $(alone:%.cpp=build/pgxs/%.o) $(rooms:%=build/pgxs/rooms/%.o)
# The older versions, and the scripts that lead from each to the next.
DATA := $(wildcard sql/batmap--*.sql)
DATA_built := build/batmap--$(EXTVERSION).sql

# The headers of the server are system headers, so that their warnings are not reported. NDEBUG: a failed
# assertion would take the server down; the unit tests run with assertions.
PG_CPPFLAGS := -Ikernels -I. -isystem $(server_headers) \
	-DBATMAP_VERSION='"$(EXTVERSION)"' $(if $(ASSERTIONS),,-DNDEBUG)
PG_CXXFLAGS := -std=c++20 $(if $(QUICK_BUILD),-g1) -Wall -Wextra $(if $(WERROR),-Werror) -fvisibility=hidden -pthread -MMD -MP
# The linker map removes template code of the C++ library from the dynamic symbols. Hidden visibility does
# not do that. With -Bsymbolic-functions the name of an SQL function means ours in our code, even if a library
# that was loaded before has a function of that name.
SHLIB_LINK := $(ENGINE) -lstdc++ -pthread -Wl,--version-script=build/exports.map -Wl,-Bsymbolic-functions

# No bitcode: it lets JIT code inline C functions, but ours spend their time in their own loops.
override with_llvm := no

REGRESS := $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS := --inputdir=test --outputdir=build/installcheck --load-extension=batmap --encoding=UTF8
ISOLATION := $(sort $(patsubst test/specs/%.spec,%,$(wildcard test/specs/*.spec)))
ISOLATION_OPTS := --inputdir=test --outputdir=build/installcheck-isolation --load-extension=batmap --encoding=UTF8
PROVE_TESTS := $(sort $(wildcard test/t/*.pl))
TAP_TESTS := $(if $(PROVE_TESTS),1)
REGRESS_PREP := installcheck-folders

# The libpq programs of test/client.
clients := $(patsubst test/client/%.cpp,build/client/%,$(wildcard test/client/*.cpp))

EXTRA_CLEAN := build

# The program of the GPU process. It has some of the engine, and nothing of the server.
gpu_program := build/batmap_gpu
gpu_sources := kernels/accel/loader.cpp kernels/process/gpu_channel.cpp $(filter kernels/process/host/%,$(sources))
gpu_objects := $(patsubst %.cpp,build/pgxs/%.o,kernels/process/host/batmap_gpu.cpp $(if $(ENGINE),,$(gpu_sources)))

all: $(gpu_program)

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

$(alone:%.cpp=build/pgxs/%.o): build/pgxs/%.o: %.cpp Makefile batmap.control | server-headers
	@mkdir -p $(@D)
	$(COMPILE.cc) $(if $(QUICK_BUILD),-include $(precompiled)) -o $@ $<

ifneq ($(QUICK_BUILD),)
precompiled := build/pgxs/precompiled.h
$(OBJS): $(precompiled).gch

$(precompiled).gch: Makefile batmap.control | server-headers
	@mkdir -p $(@D)
	@printf '#include <%s>\n' algorithm array cmath cstring functional memory mutex optional span string thread vector > $(precompiled)
	@echo '#include "extension/server/pg.h"' >> $(precompiled)
	$(COMPILE.cc) -x c++-header -o $@ $(precompiled)

$(rooms:%=build/pgxs/rooms/%.cpp): build/pgxs/rooms/%.cpp: extension/sources.list Makefile
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(filter extension/$*/%,$(sources)) > $@

$(rooms:%=build/pgxs/rooms/%.o): build/pgxs/rooms/%.o: build/pgxs/rooms/%.cpp
	$(COMPILE.cc) -include $(precompiled) -o $@ $<

-include $(precompiled).d
endif

# Client packages contain the makefiles of PGXS but not the headers.
.PHONY: server-headers
server-headers:
	@test -e $(server_headers)/postgres.h || { \
		echo '$(PG_CONFIG) knows no headers of a server: `test/install-deps build` installs what the build needs, or set PG_CONFIG' >&2; exit 1; }

-include $(OBJS:.o=.d) $(gpu_objects:.o=.d)

$(DATA_built): sql/batmap.sql batmap.control
	@mkdir -p $(@D)
	cp $< $@

build/pgxs/kernels/process/host/batmap_gpu.o: build/pgxs/%.o: %.cpp Makefile
	@mkdir -p $(@D)
	$(COMPILE.cc) -o $@ $<

$(gpu_program): $(gpu_objects) $(ENGINE)
	$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $(gpu_objects) $(ENGINE) -pthread -ldl

.PHONY: install-gpu-program
install: install-gpu-program

install-gpu-program: $(gpu_program)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_PROGRAM) $(if $(DEBUG_SYMBOLS),,-s) $(gpu_program) '$(DESTDIR)$(pkglibdir)/'

uninstall: uninstall-gpu
.PHONY: uninstall-gpu
uninstall-gpu:
	rm -f '$(DESTDIR)$(pkglibdir)/$(notdir $(gpu_program))' '$(DESTDIR)$(pkglibdir)/batmap_cuda.so'

# A changed source list causes a new link.
$(shlib): build/exports.map $(lists) $(ENGINE)

build/exports.map: Makefile
	@mkdir -p $(@D)
	@echo '{ global: Pg_magic_func; _PG_init; batmap_*; pg_finfo_batmap_*; local: *; };' > $@

# The library is installed without debug information, which is most of its size; the names of its functions stay, for
# backtraces. DEBUG_SYMBOLS=1 leaves it in: for packagers, whose tools split it off, and for debugging.
ifeq ($(DEBUG_SYMBOLS),)
.PHONY: strip-installed
install: strip-installed

strip-installed: install-lib
	$(STRIP) --strip-debug '$(DESTDIR)$(pkglibdir)/$(MODULE_big)$(DLSUFFIX)'
endif

.PHONY: install-cuda
install-cuda:
	@test -e build/cuda/batmap_cuda.so || { echo "build/cuda/batmap_cuda.so is not there: make cuda" >&2; exit 1; }
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) build/cuda/batmap_cuda.so '$(DESTDIR)$(pkglibdir)/'

.PHONY: clients neighbour fake-gpu installcheck-folders
clients: $(clients)

$(clients): build/client/%: test/client/%.cpp Makefile
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O0 -g1 -Wall -Wextra -pthread -MMD -MP -I$(shell $(PG_CONFIG) --includedir) -o $@ $< \
	    -L$(shell $(PG_CONFIG) --libdir) -lpq

-include $(clients:=.d)

# A module for test/t that plays the part of another extension. `make install` does not install it.
neighbour: build/neighbour/neighbour.so

build/neighbour/neighbour.o: test/neighbour/neighbour.cpp Makefile | server-headers
	@mkdir -p $(@D)
	$(COMPILE.cc) -o $@ $<

build/neighbour/neighbour.so: build/neighbour/neighbour.o
	$(CXX) -shared -o $@ $< -lstdc++

-include build/neighbour/neighbour.d

# A module that plays a GPU, for test/t. With ENGINE only: it decodes sets.
fake-gpu: build/fake_gpu/batmap_fake_gpu.so

build/fake_gpu/batmap_fake_gpu.so: test/fake_gpu/fake_gpu.cpp $(ENGINE) Makefile
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O1 -g1 -Wall -Wextra -pthread -fPIC -MMD -MP -Ikernels -I. -shared -o $@ $< $(ENGINE)

-include build/fake_gpu/batmap_fake_gpu.d

installcheck-folders:
	@mkdir -p build/installcheck build/installcheck-isolation

endif
