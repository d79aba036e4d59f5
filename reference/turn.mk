# The kernels of cos and sin: a tenth faster at -O3, and the same bits (docs/numerics.md,
# section 9). Private: the stamp of flags must not see it.
$(addprefix $(BUILD)/,reference/turn.o reference/turn_quick.o reference/turn_dd.o \
    reference/turn_kernel.o): private OPT += -O3
