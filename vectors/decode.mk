# Inner loops that gcc vectorises at -O3 only. Private: the stamp of flags must not see it.
$(addprefix $(BUILD)/,vectors/decode.o vectors/decode_q.o vectors/decode_k.o \
    harness/weights_rows.o): private OPT += -O3
