# posref test on ONNX Runtime; the check-* targets leave it out as they do ggml.
test-thirdparty-onnxruntime: all ## ONNX Runtime conforms, and with the other pairing is named
	@$(RUN_TESTS) thirdparty-onnxruntime $(BUILD)/results tests/thirdparty/onnxruntime.sh

test-thirdparty: test-thirdparty-onnxruntime
.PHONY: test-thirdparty-onnxruntime

conformance: all ## run the real implementations on core and write docs/conformance.md
	@$(TEST_ENV) tests/thirdparty/conformance.sh >$(BUILD)/conformance.part
	@mv $(BUILD)/conformance.part docs/conformance.md
.PHONY: conformance
