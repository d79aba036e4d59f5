# Ball arithmetic and turns against MPFR.
BALL_CHECK = $(BUILD)/tests/oracle/check_ball

TEST_PARTS += test-oracle-ball
TEST_PROGRAMS += $(BALL_CHECK)

$(BALL_CHECK): $(BALL_CHECK).o $(LIBRARY)
	$(call step,LINK,$@)
	$(Q)$(CC) $(FLAGS) $(LDFLAGS) -o $@ $^ -lmpfr -lgmp $(LIBS_MATH)

test-oracle-ball: $(BALL_CHECK) ## ball arithmetic compared with MPFR on random operands
	$(BALL_CHECK)

-include $(BALL_CHECK).d
.PHONY: test-oracle-ball
