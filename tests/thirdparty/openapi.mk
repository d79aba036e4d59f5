test-thirdparty-openapi: ## schema/openapi.json against the OpenAPI 3.1 schema, by a linter from npm
	@$(RUN_TESTS) thirdparty-openapi $(BUILD)/results tests/thirdparty/test_openapi.sh

test-thirdparty: test-thirdparty-openapi
.PHONY: test-thirdparty-openapi
