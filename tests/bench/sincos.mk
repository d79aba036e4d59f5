# The cost of a correctly rounded (cos, sin) pair.
BENCH_SINCOS = $(BUILD)/tests/bench/bench_sincos

# Columns for the libraries that are there.
have = $(shell printf '\#include <$1>\n' | $(CC) -E -x c - >/dev/null 2>&1 && echo yes)
SINCOS_COLUMNS = $(if $(call have,sleef.h),-DHAVE_SLEEF) $(if $(call have,mpfr.h),-DHAVE_MPFR) \
                 $(if $(call have,arb.h),-DHAVE_ARB)
SINCOS_LIBS = $(if $(call have,sleef.h),-lsleef) $(if $(call have,arb.h),-lflint-arb -lflint) \
              $(if $(call have,mpfr.h),-lmpfr -lgmp)

$(BENCH_SINCOS): tests/bench/bench_sincos.c $(LIBRARY)
	@mkdir -p $(@D)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(SINCOS_COLUMNS) $(LDFLAGS) -o $@ $< $(LIBRARY) $(SINCOS_LIBS) $(LIBS_MATH)

bench-sincos: $(BENCH_SINCOS) ## cos and sin beside glibc, SLEEF, MPFR and Arb
	$(BENCH_SINCOS)

bench: bench-sincos
.PHONY: bench-sincos
