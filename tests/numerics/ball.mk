# Ball arithmetic and turns against MPFR.
BALL_CHECKS = $(addprefix $(BUILD)/tests/numerics/,check_ball check_turn)

TEST_PARTS += test-oracle-ball
TEST_PROGRAMS += $(BALL_CHECKS)

$(BALL_CHECKS): $(BUILD)/%: $(BUILD)/%.o $(LIBRARY)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ -lmpfr -lgmp $(LIBS_MATH)

test-oracle-ball: $(BALL_CHECKS) ## balls, turns and rotations compared with MPFR
	$(BUILD)/tests/numerics/check_ball
	$(BUILD)/tests/numerics/check_turn

-include $(BALL_CHECKS:=.d)
.PHONY: test-oracle-ball
