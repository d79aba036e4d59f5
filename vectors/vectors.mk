# SPDX-License-Identifier: Apache-2.0
# The suites and the SQL schema, built into the program; the digest program; digests.
EMBEDDED = $(wildcard vectors/suites/*.json) $(addprefix vectors/suites/,digests.txt retired.txt) \
    schema/vectors.sql vectors/models.txt
OBJECTS += $(BUILD)/vectors/embedded.o

# FILE as a C array: od is in every base system, xxd is not.
$(BUILD)/vectors/embedded.c: vectors/embed.sh $(EMBEDDED)
	@mkdir -p $(@D)
	@sh vectors/embed.sh $(EMBEDDED) >$@.part && mv $@.part $@

$(BUILD)/vectors/embedded.o: $(BUILD)/vectors/embedded.c $(BUILD)/flags
	$(call step,CC,$@)
	$(Q)$(CC) $(FLAGS) -c -o $@ $<

# libc and libm only: reference/ and the files of vectors/ that know neither SQLite nor jansson.
DIGEST_SOURCES = vectors/digest/digest.c $(wildcard reference/*.c) \
    $(addprefix vectors/,buffer.c canonical.c case_text.c case_vector.c heap.c nearest.c \
        number_format.c number_parse.c positions.c positions_grid.c positions_mrope.c \
        recipe_attention.c sha256.c sha256_x86.c spec_text.c values.c)
$(BUILD)/posref-digest: $(DIGEST_SOURCES:%.c=$(BUILD)/%.o)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_MATH)

# Another compiler, flags or libc: make verify-vectors DIGEST_CC='musl-gcc -static' ...
verify-vectors: $(BUILD)/posref $(BUILD)/posref-digest ## recompute every suite's digest, compare
	@$(BUILD)/posref generate --cases >$(BUILD)/cases.txt
	@$(BUILD)/posref-digest $(BUILD)/cases.txt >$(BUILD)/digests.txt
	@diff vectors/suites/digests.txt $(BUILD)/digests.txt && echo 'verify-vectors: digests agree'

-include $(BUILD)/vectors/digest/digest.d
.PHONY: verify-vectors
